package dev.idempotency.listener.parked;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.support.serializer.SerializationUtils;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.store.ParkedPartition;
import dev.idempotency.store.ParkedRecord;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.store.ParkedRecords.Waiting;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.IdempotencyListener.Parked;
import dev.idempotency.template.IdempotencyListener.ParkedOutcome;

/**
 * Parks the blocked records of a container, and the records behind them that have the
 * same message key. A parked record counts as done for its consumer, because the store
 * has it; a worker processes it when its key is free.
 * <p>
 * Only the consumer to which a partition is assigned parks its records. The message keys
 * of parked records are in memory, so that other records cost no call of the store.
 *
 * @since 0.1.0
 */
public final class Parking {

	private static final Log logger = LogFactory.getLog(Parking.class);

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	// A record that is processed when its partition is revoked. The next owner of the
	// partition waits for it in any case.
	private static final Duration REVOCATION = Duration.ofSeconds(5);

	private final Settings settings;

	private final ByteConsumers consumers;

	private final RawRecords raw;

	private final ParkedWorker worker;

	private final AtomicInteger parked = new AtomicInteger();

	private volatile @Nullable Deserialization deserialization;

	private volatile @Nullable Consumer<ConsumerRecord<?, ?>> delivery;

	private volatile long warned = System.nanoTime() - Duration.ofHours(1).toNanos();

	/**
	 * Create a parking.
	 * @param settings the settings
	 */
	public Parking(Settings settings) {
		this.settings = settings;
		this.consumers = new ByteConsumers(settings.consumerProperties());
		this.raw = new RawRecords(this.consumers);
		this.worker = new ParkedWorker("idempotency-parked-" + settings.container().getListenerId(), settings.store(),
				this::load, (partition) -> BlockedRecordHandling.isPausedByApplication(settings.container(), partition),
				new Notifications());
	}

	/**
	 * Return the settings.
	 * @return the settings
	 */
	public Settings settings() {
		return this.settings;
	}

	/**
	 * Set what passes a parked record to the listener.
	 * @param listener the listener
	 */
	public void deliverTo(Consumer<ConsumerRecord<?, ?>> listener) {
		this.delivery = listener;
	}

	/**
	 * Note that partitions are assigned to the consumer of this thread.
	 * @param partitions the partitions
	 */
	public void assigned(Collection<TopicPartition> partitions) {
		for (TopicPartition partition : partitions) {
			ParkedQueue previous = this.worker.queue(partition);
			if (previous != null) {
				// Another consumer of the container has lost the partition. It
				// notices that at its next poll only.
				end(previous, Duration.ZERO);
			}
			this.worker.add(
					new ParkedQueue(partition,
							new ParkedPartition(this.settings.scope(partition.topic()), partition.topic(),
									partition.partition())),
					() -> new ParkedRun(this.settings.store(), this::deserialization, this.settings.container(),
							(record) -> Objects.requireNonNull(this.delivery).accept(record), this.consumers));
		}
	}

	/**
	 * Note that partitions are no longer assigned to the consumer of this thread.
	 * @param partitions the partitions
	 */
	public void revoked(Collection<TopicPartition> partitions) {
		for (TopicPartition partition : partitions) {
			ParkedQueue queue = this.worker.queue(partition);
			if (queue != null && queue.isOwnedByThisThread()) {
				end(queue, REVOCATION);
			}
		}
	}

	/**
	 * Note that the consumer of this thread has ended.
	 */
	public void closed() {
		Duration timeout = Duration.ofMillis(this.settings.container().getContainerProperties().getShutdownTimeout());
		for (ParkedQueue queue : this.worker.queues()) {
			if (queue.isOwnedByThisThread()) {
				end(queue, timeout);
			}
		}
		this.raw.close();
	}

	private void end(ParkedQueue queue, Duration timeout) {
		List<ParkedEntry> entries = queue.deactivate();
		this.parked.addAndGet(-entries.size());
		this.worker.remove(queue, timeout);
		entries.forEach((entry) -> this.settings.listener().unparked(entry.description(), ParkedOutcome.REASSIGNED));
	}

	/**
	 * Park a record if records with its message key are parked.
	 * @param record the record that is about to be delivered
	 * @return whether the record is parked
	 * @throws OperationBlockedException if the record must neither be processed nor can
	 * it be parked
	 */
	public boolean parkBehind(ConsumerRecord<?, ?> record) {
		ParkedQueue queue = this.worker.queue(new TopicPartition(record.topic(), record.partition()));
		if (queue == null || !queue.isOwnedByThisThread()) {
			throw new OperationInProgressException(
					"The partition " + record.topic() + "-" + record.partition() + " is assigned to another consumer",
					RETRY_AFTER);
		}
		if (!queue.isLoaded()) {
			loadOrBlock(queue);
		}
		Object key = queue.isEmpty() ? null : MessageKeys.of(record.key());
		return key != null && queue.parkBehind(key, () -> parkOrBlock(queue, record, key));
	}

	private void loadOrBlock(ParkedQueue queue) {
		try {
			load(queue);
		}
		catch (OperationBlockedException ex) {
			throw ex;
		}
		catch (RuntimeException ex) {
			throw new IdempotencyStoreRefusedException(
					"The parked records of the partition " + queue.topicPartition() + " could not be read", ex);
		}
	}

	private boolean parkOrBlock(ParkedQueue queue, ConsumerRecord<?, ?> record, Object key) {
		String problem;
		try {
			problem = add(queue, record, key);
		}
		catch (RuntimeException ex) {
			problem = ex.getMessage();
		}
		if (problem != null) {
			warn(record, problem);
			throw new OperationInProgressException("The record of " + queue.topicPartition() + " with the offset "
					+ record.offset() + " has the message key of a parked record, and cannot be parked: " + problem
					+ ". The partition is paused until it can", RETRY_AFTER);
		}
		logger.debug("A record is parked behind another one with its message key: " + where(record));
		return true;
	}

	/**
	 * Park a blocked record.
	 * @param record the record
	 * @param reason the reason why it is blocked
	 * @return {@code false} if the record cannot be parked, so that its partition must
	 * wait
	 */
	public boolean park(ConsumerRecord<?, ?> record, OperationInProgressException reason) {
		ParkedQueue queue = this.worker.queue(new TopicPartition(record.topic(), record.partition()));
		if (queue == null || !queue.isOwnedByThisThread()) {
			return false;
		}
		Object key = MessageKeys.of(record.key());
		String problem;
		try {
			// A record without a message key has no order.
			problem = add(queue, record, (key != null) ? key : new Object());
		}
		catch (RuntimeException ex) {
			problem = ex.getMessage();
			logger.debug("A blocked record could not be parked: " + where(record), ex);
		}
		if (problem != null) {
			warn(record, problem);
			return false;
		}
		logger.info(
				"A blocked record is parked, and its partition goes on: " + where(record) + ". " + reason.getMessage());
		return true;
	}

	private static String where(ConsumerRecord<?, ?> record) {
		return "topic " + record.topic() + ", partition " + record.partition() + ", offset " + record.offset();
	}

	// Returns why the record cannot be parked.
	private @Nullable String add(ParkedQueue queue, ConsumerRecord<?, ?> record, Object key) {
		// A redelivered record. The worker may have processed it and deleted its row.
		if (queue.contains(ParkedRecord.id(queue.partition(), record.offset(), record.timestamp()))) {
			return null;
		}
		if (this.parked.get() >= this.settings.maximum()) {
			return "there are " + this.parked.get() + " parked records, and 'idempotency.parked.maximum' is "
					+ this.settings.maximum();
		}
		ConsumerRecord<byte[], byte[]> bytes = this.raw.read(record);
		Headers headers = HeaderBytes.read(HeaderBytes.of(bytes.headers()));
		Object again = MessageKeys.of(deserialization().key(record.topic(), headers, bytes.key()));
		if (!Objects.equals(again, MessageKeys.of(record.key()))) {
			return "its message key does not equal the key of another record with the same bytes. Let the class of "
					+ "the key implement 'equals' and 'hashCode'";
		}
		ParkedRecord stored = new ParkedRecord(queue.partition(), record.offset(), record.timestamp(),
				record.timestampType().id, bytes.key(), HeaderBytes.of(bytes.headers()), bytes.value());
		if (!this.settings.store().park(stored, queue.owner())) {
			queue.reload();
			return "the partition is assigned to another consumer";
		}
		add(queue, new ParkedEntry(stored.id(), key, describe(queue, record.offset(), Instant.now())));
		this.worker.signal();
		return null;
	}

	private Parked describe(ParkedQueue queue, long offset, Instant since) {
		return new Parked(this.settings.name(), queue.partition().topic(), queue.partition().partition(), offset,
				since);
	}

	private void add(ParkedQueue queue, ParkedEntry entry) {
		if (queue.add(entry)) {
			this.parked.incrementAndGet();
			this.settings.listener().parked(entry.description());
		}
	}

	private void load(ParkedQueue queue) {
		if (!queue.isLoaded() && queue.isActive()) {
			queue.load(() -> {
				for (Waiting waiting : this.settings.store().takeOver(queue.partition(), queue.owner())) {
					add(queue, new ParkedEntry(waiting.id(), key(queue, waiting),
							describe(queue, waiting.offset(), waiting.parkedAt())));
				}
			});
		}
	}

	// Without the key, later records of the key would overtake the parked one. It could
	// be deserialized when the record was parked.
	private Object key(ParkedQueue queue, Waiting waiting) {
		Headers headers = HeaderBytes.read(waiting.headers());
		Object key;
		try {
			key = MessageKeys.of(deserialization().key(queue.partition().topic(), headers, waiting.key()));
		}
		catch (RuntimeException ex) {
			throw unknownKey(queue, waiting, ex);
		}
		if (key == null && headers.lastHeader(SerializationUtils.KEY_DESERIALIZER_EXCEPTION_HEADER) != null) {
			throw unknownKey(queue, waiting, null);
		}
		return (key != null) ? key : new Object();
	}

	private RuntimeException unknownKey(ParkedQueue queue, Waiting waiting, @Nullable RuntimeException cause) {
		String message = "The message key of a parked record cannot be deserialized, so its partition is paused: topic "
				+ queue.partition().topic() + ", partition " + queue.partition().partition() + ", offset "
				+ waiting.offset();
		if (isWarningDue()) {
			logger.warn(message, cause);
		}
		return new IllegalStateException(message, cause);
	}

	private Deserialization deserialization() {
		Deserialization current = this.deserialization;
		if (current == null) {
			current = new Deserialization(this.settings.consumerFactory(), this.settings.consumerProperties());
			this.deserialization = current;
		}
		return current;
	}

	private boolean isWarningDue() {
		long now = System.nanoTime();
		if (now - this.warned <= Duration.ofMinutes(1).toNanos()) {
			return false;
		}
		this.warned = now;
		return true;
	}

	// The reason may last for many records.
	private void warn(ConsumerRecord<?, ?> record, String problem) {
		if (isWarningDue()) {
			logger.warn("A blocked record cannot be parked, so its partition is paused: " + where(record) + ", because "
					+ problem);
		}
	}

	/**
	 * The settings of a {@link Parking}.
	 *
	 * @param name the name of the listener for messages and meters
	 * @param explicitScope the scope of the annotation, {@code null} for the default
	 * scope
	 * @param store the parked records
	 * @param maximum the largest number of parked records in this process
	 * @param container the container
	 * @param consumerFactory creates the consumers of the container
	 * @param consumerProperties the configuration of the consumers
	 * @param listener is notified of parked records
	 */
	public record Settings(String name, @Nullable String explicitScope, ParkedRecords store, int maximum,
			AbstractMessageListenerContainer<?, ?> container, ConsumerFactory<?, ?> consumerFactory,
			Map<String, Object> consumerProperties, IdempotencyListener listener) {

		/**
		 * Return the scope under which the records of a topic are parked.
		 * @param topic the topic
		 * @return the scope
		 */
		public String scope(String topic) {
			return (this.explicitScope != null) ? this.explicitScope : this.container.getGroupId() + "/" + topic;
		}

	}

	/**
	 * Receives the records that the worker has processed.
	 */
	private final class Notifications implements ParkedWorker.Listener {

		@Override
		public void done(ParkedEntry entry, ParkedOutcome outcome) {
			Parking.this.parked.decrementAndGet();
			Parking.this.settings.listener().unparked(entry.description(), outcome);
			logger.debug("A parked record is done, " + outcome + ": " + entry);
		}

		@Override
		public void idle() {
			Parking.this.raw.close();
		}

	}

}
