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
 * A failure of a method without {@code @Idempotent} in the same class is acknowledged
 * before its retry, as Spring Kafka does it.
 * <p>
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

	// The listener adapter acknowledges a delivery on
	// the same thread before it reports its failure.
	private final ThreadLocal<@Nullable AsyncDelivery> acknowledged = new ThreadLocal<>();

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
		AsyncConsumer current = this.consumer.get();
		if (current == null || current.target != callback) {
			current = AsyncConsumer.of(callback);
		}
		if (current == null) {
			if (this.warned.compareAndSet(false, true)) {
				logger.warn("Failures of asynchronous idempotent listeners are retried as this version of Spring Kafka "
						+ "does it, because its containers have other methods than version 4.1. Verify that a failed "
						+ "record is not acknowledged before its retry, and is retried with a concurrency of 2 or more");
			}
			return;
		}
		this.consumer.set(current);
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
		AsyncConsumer current = this.consumer.get();
		if (current != null) {
			partitions.forEach((partition) -> {
				current.retried.remove(partition);
				current.ignoreFrom(partition, 0);
			});
		}
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
		AsyncDelivery delivery = new AsyncDelivery(record, current, acknowledgment);
		// The consumer may have sought back.
		current.ignoreFrom(delivery.partition, record.offset());
		current.add(delivery);
		return delivery;
	}

	/**
	 * Note that the listener adapter has handled a result on this thread. A failure that
	 * it has acknowledged and not reported was accepted by an error handler of the
	 * listener.
	 */
	void end() {
		AsyncDelivery handled = this.acknowledged.get();
		if (handled != null) {
			this.acknowledged.remove();
			if (handled.isFailing()) {
				handled.settle();
			}
		}
	}

	private void report(ConsumerRecord<?, ?> record, RuntimeException exception) {
		AsyncDelivery delivery = this.acknowledged.get();
		this.acknowledged.remove();
		if (delivery != null) {
			delivery.report(exception);
		}
		else {
			logger.error("A failed result was not acknowledged before it was reported, so its record is not retried: "
					+ record.topic() + "-" + record.partition() + "@" + record.offset()
					+ ". Verify that this version of Spring Kafka is supported", exception);
		}
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
		delivery.consumer.ignoreFrom(delivery.partition, record.offset());
		if (delivery.isFailing()) {
			delivery.consumer.retried.put(delivery.partition, record.offset());
			delivery.consumer.forgetFrom(delivery.partition, record.offset());
		}
		return delivery.isFailing();
	}

	/**
	 * Note on the thread of the consumer that the error handler has handled a failed
	 * record, or a retry that has succeeded.
	 * @param record the record
	 */
	void handled(ConsumerRecord<?, ?> record) {
		AsyncDelivery delivery = unacknowledged(record);
		if (delivery != null) {
			boolean failing = delivery.isFailing();
			if (delivery.consumer.retried.remove(delivery.partition, record.offset()) && !failing) {
				// The method has thrown an exception in the retry of a failed result. The
				// container ends such a retry only after another result.
				delivery.consumer.report(record, BlockedRecordHandling.retrySucceeded());
			}
			delivery.consumer.remove(delivery);
			delivery.settle();
		}
	}

	private @Nullable AsyncDelivery unacknowledged(ConsumerRecord<?, ?> record) {
		AsyncConsumer current = this.consumer.get();
		return (current != null) ? current.get(new TopicPartition(record.topic(), record.partition()), record.offset())
				: null;
	}

	/**
	 * The delivery of one record, and its acknowledgment.
	 */
	final class AsyncDelivery implements Acknowledgment {

		private final ConsumerRecord<?, ?> record;

		private final TopicPartition partition;

		private final AsyncConsumer consumer;

		private final Acknowledgment delegate;

		// The following state is written under the monitor.
		private volatile boolean failing;

		private volatile boolean ignored;

		private boolean retrySucceeded;

		private boolean acknowledgeable;

		private AsyncDelivery(ConsumerRecord<?, ?> record, AsyncConsumer consumer, Acknowledgment delegate) {
			this.record = record;
			this.partition = new TopicPartition(record.topic(), record.partition());
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
			if (!this.ignored && this.consumer.retried.remove(this.partition, this.record.offset())) {
				this.retrySucceeded = true;
				this.consumer.report(this.record, BlockedRecordHandling.retrySucceeded());
			}
		}

		@Override
		public synchronized void acknowledge() {
			this.acknowledgeable = true;
			AsyncRetries.this.acknowledged.set(this);
			if (!this.failing && !this.retrySucceeded) {
				passOn();
			}
		}

		private synchronized void report(RuntimeException exception) {
			if (!this.ignored) {
				if (!this.failing) {
					// Already acknowledged: not the result of a protected method.
					this.failing = true;
					this.consumer.add(this);
				}
				this.consumer.report(this.record, BlockedRecordHandling.asyncFailure(exception, () -> this.ignored));
			}
		}

		private synchronized void settle() {
			this.failing = false;
			this.retrySucceeded = false;
			if (this.acknowledgeable) {
				passOn();
			}
		}

		private synchronized void ignore() {
			this.ignored = true;
		}

		private void passOn() {
			if (!this.ignored) {
				this.consumer.remove(this);
				this.delegate.acknowledge();
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
	 */
	private static final class AsyncConsumer {

		// The consumer of Spring Kafka, which is its own lock.
		private final Object target;

		private final Method report;

		private final Field unacknowledgedOffsets;

		private final Method forget;

		// The deliveries that are not acknowledged, by their offsets.
		private final Map<TopicPartition, ConcurrentNavigableMap<Long, AsyncDelivery>> deliveries = new ConcurrentHashMap<>();

		// The offset of the record that is retried. The
		// container skips the later records of its partition.
		private final Map<TopicPartition, Long> retried = new ConcurrentHashMap<>();

		private AsyncConsumer(Object target, Method report, Field unacknowledgedOffsets, Method forget) {
			this.target = target;
			this.report = report;
			this.unacknowledgedOffsets = unacknowledgedOffsets;
			this.forget = forget;
			ReflectionUtils.makeAccessible(report);
			ReflectionUtils.makeAccessible(unacknowledgedOffsets);
			ReflectionUtils.makeAccessible(forget);
		}

		static @Nullable AsyncConsumer of(Object target) {
			Method report = ReflectionUtils.findMethod(target.getClass(), "callbackForAsyncFailure",
					ConsumerRecord.class, RuntimeException.class);
			Field offsets = ReflectionUtils.findField(target.getClass(), "offsetsInThisBatch", Map.class);
			Method forget = ReflectionUtils.findMethod(target.getClass(), "removeOffsetsInBatch", Iterable.class);
			return (report != null && offsets != null && forget != null)
					? new AsyncConsumer(target, report, offsets, forget) : null;
		}

		void add(AsyncDelivery delivery) {
			this.deliveries.computeIfAbsent(delivery.partition, (key) -> new ConcurrentSkipListMap<>())
				.put(delivery.record.offset(), delivery);
		}

		@Nullable AsyncDelivery get(TopicPartition partition, long offset) {
			Map<Long, AsyncDelivery> open = this.deliveries.get(partition);
			return (open != null) ? open.get(offset) : null;
		}

		void remove(AsyncDelivery delivery) {
			Map<Long, AsyncDelivery> open = this.deliveries.get(delivery.partition);
			if (open != null) {
				open.remove(delivery.record.offset(), delivery);
			}
		}

		void ignoreFrom(TopicPartition partition, long first) {
			ConcurrentNavigableMap<Long, AsyncDelivery> open = this.deliveries.get(partition);
			if (open != null && !open.isEmpty()) {
				NavigableMap<Long, AsyncDelivery> behind = open.tailMap(first, true);
				behind.values().forEach(AsyncDelivery::ignore);
				behind.clear();
			}
		}

		// Accepts failures from other threads, and handles them between two polls.
		void report(ConsumerRecord<?, ?> record, RuntimeException exception) {
			ReflectionUtils.invokeMethod(this.report, this.target, record, exception);
		}

		// The container is paused until all delivered records are acknowledged.
		@SuppressWarnings("unchecked")
		void forgetFrom(TopicPartition partition, long first) {
			synchronized (this.target) {
				Map<TopicPartition, List<Long>> offsets = (Map<TopicPartition, List<Long>>) ReflectionUtils
					.getField(this.unacknowledgedOffsets, this.target);
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
