package dev.idempotency.listener;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/**
 * Where a record was first written: the same on every retry and dead-letter topic,
 * because Spring Kafka keeps the coordinates of the original in headers. The timestamp
 * tells a topic from an earlier one of the same name.
 */
final class RecordCoordinates {

	// Written by retry topics, and by a DeadLetterPublishingRecoverer on its own.
	private static final String[] FAMILIES = { "kafka_original-", "kafka_dlt-original-" };

	private RecordCoordinates() {
	}

	static String key(ConsumerRecord<?, ?> record) {
		for (String family : FAMILIES) {
			String original = original(record.headers(), family);
			if (original != null) {
				return original;
			}
		}
		return key(record.topic(), record.partition(), record.offset(), record.timestamp());
	}

	private static @Nullable String original(Headers headers, String family) {
		byte[] topic = first(headers, family + "topic");
		byte[] partition = first(headers, family + "partition");
		byte[] offset = first(headers, family + "offset");
		byte[] timestamp = first(headers, family + "timestamp");
		if (topic == null || partition == null || partition.length != Integer.BYTES || offset == null
				|| offset.length != Long.BYTES || timestamp == null || timestamp.length != Long.BYTES) {
			return null;
		}
		return key(new String(topic, StandardCharsets.UTF_8), ByteBuffer.wrap(partition).getInt(),
				ByteBuffer.wrap(offset).getLong(), ByteBuffer.wrap(timestamp).getLong());
	}

	// The first: a second failure appends another.
	private static byte @Nullable [] first(Headers headers, String name) {
		for (Header header : headers.headers(name)) {
			return header.value();
		}
		return null;
	}

	private static String key(String topic, int partition, long offset, long timestamp) {
		return topic + "-" + partition + "-" + offset + "@" + timestamp;
	}

}
