package dev.idempotency.listener.parked;

import java.util.List;
import java.util.Set;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Reads delivered records again, as bytes: the listener has received objects, from which
 * the bytes cannot be restored.
 */
final class RawRecords {

	private final ByteConsumers consumers;

	private @Nullable Consumer<byte[], byte[]> consumer;

	RawRecords(ByteConsumers consumers) {
		this.consumers = consumers;
	}

	/**
	 * Read a record again. Waits a short time for the broker.
	 */
	synchronized ConsumerRecord<byte[], byte[]> read(ConsumerRecord<?, ?> record) {
		try {
			if (this.consumer == null) {
				this.consumer = this.consumers.create();
			}
			return read(this.consumer, record);
		}
		catch (RuntimeException ex) {
			close();
			throw ex;
		}
	}

	private static ConsumerRecord<byte[], byte[]> read(Consumer<byte[], byte[]> consumer, ConsumerRecord<?, ?> record) {
		TopicPartition partition = new TopicPartition(record.topic(), record.partition());
		if (!consumer.assignment().equals(Set.of(partition))) {
			consumer.assign(List.of(partition));
		}
		consumer.seek(partition, record.offset());
		long end = System.nanoTime() + ByteConsumers.TIMEOUT.toNanos();
		while (System.nanoTime() < end) {
			for (ConsumerRecord<byte[], byte[]> raw : consumer.poll(ByteConsumers.TIMEOUT)) {
				if (raw.offset() != record.offset() || raw.timestamp() != record.timestamp()) {
					throw new IllegalStateException("The topic no longer contains the record");
				}
				return raw;
			}
		}
		throw new TimeoutException("The broker did not return the record in time");
	}

	synchronized void close() {
		Consumer<byte[], byte[]> current = this.consumer;
		this.consumer = null;
		if (current != null) {
			current.close(org.apache.kafka.clients.consumer.CloseOptions.timeout(java.time.Duration.ZERO));
		}
	}

}
