package dev.idempotency.listener;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;
import org.springframework.kafka.listener.DelegatingMessageListener;
import org.springframework.kafka.listener.adapter.RecordMessagingMessageListenerAdapter;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.listener.error.BlockedRecordHandling;

/**
 * The retries of failed asynchronous results in one container. It works around four
 * defects of Spring Kafka 4.1.1:
 * <ol>
 * <li>A record whose result has failed is acknowledged before it is retried, so that a
 * crash or a rebalance during the retries loses it. Its acknowledgment is withheld until
 * the error handler has recovered the record or a retry has succeeded.
 * <li>The consumers of a container share one listener adapter, which hands all failures
 * to the consumer that was created last. That consumer cannot seek in the partitions of
 * the others. Each failure is handed to the consumer that has delivered the record.
 * <li>A consumer skips the records behind a failed one until it is recovered or the
 * partition is revoked, also after a retry that has succeeded. A retry that succeeds is
 * therefore reported as a recovered failure, so that the consumer seeks to the next
 * record.
 * <li>The result of a later record that arrives during the retry moves the position
 * behind the failed record, by its failure or its acknowledgment. A later record is
 * redelivered with the failed one, so its earlier result is ignored.
 * </ol>
 * The acknowledgments and failures of a partition that is being retried reach the
 * container on the thread of its consumer, because the container accesses its list of
 * unacknowledged offsets there without a lock.
 */
final class AsyncRetries {

	private static final Log logger = LogFactory.getLog(AsyncRetries.class);

	private final AtomicBoolean warned = new AtomicBoolean();

	// Directs failures to this object.
	private volatile @Nullable Runnable route;

	// The consumer of this thread.
	private final ThreadLocal<@Nullable AsyncConsumer> consumer = new ThreadLocal<>();

	// The delivery that the listener adapter has acknowledged
	// on this thread before it reports its failure.
	private final ThreadLocal<@Nullable AsyncDelivery> failed = new ThreadLocal<>();

	// The deliveries that are not acknowledged, by their offsets.
	private final Map<TopicPartition, ConcurrentNavigableMap<Long, AsyncDelivery>> deliveries = new ConcurrentHashMap<>();

	// The offset of the record that is retried.
	private final Map<TopicPartition, Long> retried = new ConcurrentHashMap<>();

	/**
	 * Register a consumer on its thread.
	 * @param listener the listener of the container
	 * @param callback the consumer
	 */
	void register(Object listener, ConsumerSeekCallback callback) {
		RecordMessagingMessageListenerAdapter<?, ?> adapter = adapter(listener);
		if (adapter == null || !adapter.isAsyncReplies()) {
			return;
		}
		AsyncConsumer registered = AsyncConsumer.of(callback);
		if (registered == null) {
			if (this.warned.compareAndSet(false, true)) {
				logger.warn("Failures of asynchronous idempotent listeners are retried as this version of Spring Kafka "
						+ "does it, because its containers have other methods than version 4.1. Verify that a failed "
						+ "record is not acknowledged before its retry, and is retried with a concurrency of 2 or more");
			}
			return;
		}
		this.consumer.set(registered);
		this.route = () -> route(adapter);
		route(adapter);
	}

	private <K, V> void route(RecordMessagingMessageListenerAdapter<K, V> adapter) {
		adapter.setCallbackForAsyncFailure(this::report);
	}

	private static @Nullable RecordMessagingMessageListenerAdapter<?, ?> adapter(Object listener) {
		Object target = listener;
		while (target instanceof DelegatingMessageListener<?> delegating) {
			target = delegating.getDelegate();
		}
		return (target instanceof RecordMessagingMessageListenerAdapter<?, ?> adapter) ? adapter : null;
	}

	boolean isActive() {
		return this.route != null;
	}

	void unregister() {
		this.consumer.remove();
	}

	/**
	 * Note that partitions are no longer assigned to the consumer of this thread. Their
	 * unacknowledged records are redelivered.
	 * @param partitions the partitions
	 */
	void revoked(Collection<TopicPartition> partitions) {
		partitions.forEach((partition) -> {
			this.retried.remove(partition);
			ignoreFrom(partition, 0);
		});
	}

	/**
	 * Begin the delivery of a record on the thread of its consumer.
	 * @param record the record
	 * @param acknowledgment the acknowledgment of the container, {@code null} if the
	 * container acknowledges
	 * @return the acknowledgment for the delivery
	 */
	@Nullable Acknowledgment begin(ConsumerRecord<?, ?> record, @Nullable Acknowledgment acknowledgment) {
		AsyncConsumer current = this.consumer.get();
		if (current == null || acknowledgment == null) {
			return acknowledgment;
		}
		TopicPartition partition = partition(record);
		// The consumer has sought back.
		ignoreFrom(partition, record.offset());
		AsyncDelivery delivery = new AsyncDelivery(record, current, acknowledgment);
		this.deliveries.computeIfAbsent(partition, (key) -> new ConcurrentSkipListMap<>())
			.put(record.offset(), delivery);
		return delivery;
	}

	/**
	 * Note that the listener adapter has handled a result on this thread. A failure that
	 * it has acknowledged and not reported was accepted by an error handler of the
	 * listener.
	 */
	void end() {
		AsyncDelivery accepted = this.failed.get();
		if (accepted != null) {
			this.failed.remove();
			accepted.settle();
		}
	}

	private void report(ConsumerRecord<?, ?> record, RuntimeException exception) {
		AsyncDelivery delivery = this.failed.get();
		this.failed.remove();
		if (delivery == null) {
			delivery = unacknowledged(record);
		}
		if (delivery == null || !delivery.report(exception)) {
			logger.debug("The record of a failed result is or will be delivered again, so the failure is ignored: "
					+ partition(record) + "@" + record.offset(), exception);
		}
	}

	private @Nullable AsyncDelivery unacknowledged(ConsumerRecord<?, ?> record) {
		NavigableMap<Long, AsyncDelivery> open = this.deliveries.get(partition(record));
		return (open != null) ? open.get(record.offset()) : null;
	}

	/**
	 * Note on the thread of the consumer that the error handler expects a record to be
	 * redelivered, and with it the later records of its partition.
	 * @param record the record
	 * @return whether its asynchronous result has failed
	 */
	boolean redelivered(ConsumerRecord<?, ?> record) {
		AsyncDelivery delivery = unacknowledged(record);
		if (delivery == null) {
			return false;
		}
		TopicPartition partition = partition(record);
		ignoreFrom(partition, record.offset());
		if (delivery.isFailing()) {
			this.retried.put(partition, record.offset());
			delivery.consumer.forgetFrom(partition, record.offset());
		}
		return delivery.isFailing();
	}

	/**
	 * Note on the thread of the consumer that the error handler has handled a failed
	 * record, or a retry that has succeeded.
	 * @param record the record
	 */
	void handled(ConsumerRecord<?, ?> record) {
		this.retried.remove(partition(record), record.offset());
		AsyncDelivery delivery = unacknowledged(record);
		if (delivery != null) {
			delivery.end();
			delivery.settle();
		}
	}

	private void ignoreFrom(TopicPartition partition, long offset) {
		ConcurrentNavigableMap<Long, AsyncDelivery> open = this.deliveries.get(partition);
		if (open != null && !open.isEmpty()) {
			NavigableMap<Long, AsyncDelivery> behind = open.tailMap(offset, true);
			behind.values().forEach(AsyncDelivery::ignore);
			behind.clear();
		}
	}

	private static TopicPartition partition(ConsumerRecord<?, ?> record) {
		return new TopicPartition(record.topic(), record.partition());
	}

	/**
	 * The delivery of one record, and its acknowledgment.
	 */
	final class AsyncDelivery implements Acknowledgment {

		private final ConsumerRecord<?, ?> record;

		private final AsyncConsumer consumer;

		private final Acknowledgment delegate;

		// Written under the monitor.
		private volatile boolean failing;

		private boolean retrySucceeded;

		private boolean acknowledged;

		private boolean ignored;

		private AsyncDelivery(ConsumerRecord<?, ?> record, AsyncConsumer consumer, Acknowledgment delegate) {
			this.record = record;
			this.consumer = consumer;
			this.delegate = delegate;
		}

		/**
		 * Note that the result is about to fail.
		 */
		synchronized void failing() {
			this.failing = true;
			// A consumer that is being created may just
			// have directed all failures to itself.
			Runnable current = AsyncRetries.this.route;
			if (current != null) {
				current.run();
			}
		}

		boolean isFailing() {
			return this.failing;
		}

		/**
		 * Note that the result is about to be passed to the listener adapter.
		 */
		synchronized void succeeding() {
			if (!this.ignored && AsyncRetries.this.retried.remove(partition(this.record), this.record.offset())) {
				this.retrySucceeded = true;
				this.consumer.report(this.record, BlockedRecordHandling.retrySucceeded());
			}
		}

		@Override
		public synchronized void acknowledge() {
			this.acknowledged = true;
			if (this.failing) {
				AsyncRetries.this.failed.set(this);
			}
			else if (!this.retrySucceeded) {
				passOn();
			}
		}

		private synchronized boolean report(RuntimeException exception) {
			if (!this.ignored) {
				this.consumer.report(this.record, exception);
			}
			return !this.ignored;
		}

		private synchronized void settle() {
			this.failing = false;
			this.retrySucceeded = false;
			if (this.acknowledged) {
				passOn();
			}
		}

		private synchronized void ignore() {
			this.ignored = true;
		}

		private void passOn() {
			if (!this.ignored) {
				end();
				this.delegate.acknowledge();
			}
		}

		private void end() {
			Map<Long, AsyncDelivery> open = AsyncRetries.this.deliveries.get(partition(this.record));
			if (open != null) {
				open.remove(this.record.offset(), this);
			}
		}

		@Override
		public void nack(Duration sleep) {
			this.delegate.nack(sleep);
		}

		@Override
		public boolean isOutOfOrderCommit() {
			return this.delegate.isOutOfOrderCommit();
		}

		@Override
		public String toString() {
			return this.delegate.toString();
		}

	}

	/**
	 * A consumer of the container.
	 *
	 * @param target the consumer of Spring Kafka, which is its own lock
	 * @param report accepts failures from other threads
	 * @param unacknowledged the offsets that are not acknowledged
	 * @param forget removes records from these offsets
	 */
	private record AsyncConsumer(Object target, Method report, Field unacknowledged, Method forget) {

		static @Nullable AsyncConsumer of(Object target) {
			Method report = ReflectionUtils.findMethod(target.getClass(), "callbackForAsyncFailure",
					ConsumerRecord.class, RuntimeException.class);
			Field unacknowledged = ReflectionUtils.findField(target.getClass(), "offsetsInThisBatch", Map.class);
			Method forget = ReflectionUtils.findMethod(target.getClass(), "removeOffsetsInBatch", Iterable.class);
			if (report == null || unacknowledged == null || forget == null) {
				return null;
			}
			ReflectionUtils.makeAccessible(report);
			ReflectionUtils.makeAccessible(unacknowledged);
			ReflectionUtils.makeAccessible(forget);
			return new AsyncConsumer(target, report, unacknowledged, forget);
		}

		void report(ConsumerRecord<?, ?> record, RuntimeException exception) {
			ReflectionUtils.invokeMethod(this.report, this.target, record, exception);
		}

		// The container is paused until all delivered records are acknowledged.
		@SuppressWarnings("unchecked")
		void forgetFrom(TopicPartition partition, long first) {
			synchronized (this.target) {
				Map<TopicPartition, List<Long>> offsets = (Map<TopicPartition, List<Long>>) ReflectionUtils
					.getField(this.unacknowledged, this.target);
				List<Long> open = (offsets != null) ? offsets.get(partition) : null;
				if (open != null) {
					ReflectionUtils.invokeMethod(this.forget, this.target, open.stream()
						.filter((offset) -> offset >= first)
						.map((offset) -> new ConsumerRecord<>(partition.topic(), partition.partition(), offset, "", ""))
						.toList());
				}
			}
		}

	}

}
