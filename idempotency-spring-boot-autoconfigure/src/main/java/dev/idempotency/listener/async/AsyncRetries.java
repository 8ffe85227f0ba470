/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.async;

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.BooleanSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;
import org.springframework.kafka.listener.DelegatingMessageListener;
import org.springframework.kafka.listener.adapter.RecordMessagingMessageListenerAdapter;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaUtils;

import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.listener.springkafka.FailedResults;
import dev.idempotency.listener.springkafka.RetainedPartitions;

/**
 * The retries of failed asynchronous results in one container. It replaces those of
 * Spring Kafka, which lose records:
 * <ol>
 * <li>A record whose result has failed is acknowledged before it is retried, so that a
 * crash or a rebalance during the retries loses it. Here, its acknowledgment is withheld
 * until the error handler has recovered the record or a retry has succeeded.
 * <li>The consumers of a container share one listener adapter, which reports all failures
 * to the consumer that was created last. That consumer cannot seek in the partitions of
 * the others. Here, each failure is handed to the consumer that has delivered the record.
 * <li>A consumer skips the records behind a failed one, and does not seek back to them
 * after a successful retry. Here, they are skipped while the record is retried, and the
 * consumer then seeks to the next record. The container is not notified of the retry, so
 * it does not skip records itself.
 * <li>The result of a later record that arrives during the retry moves the position
 * behind the failed record, by its failure or its acknowledgment. A later record is
 * redelivered with the failed one, so its earlier result is ignored.
 * </ol>
 * A failure of a method without {@code @Idempotent} in the same class is acknowledged
 * before its retry, as Spring Kafka does it.
 * <p>
 * The acknowledgments and failures of a record that is retried reach the container on the
 * thread of its consumer, because the container accesses its list of unacknowledged
 * offsets there without a lock.
 */
public final class AsyncRetries {

	private static final Log logger = LogFactory.getLog(AsyncRetries.class);

	// Directs failures to this object.
	private volatile @Nullable Runnable route;

	// The consumer of this thread.
	private final ConsumerLocal<AsyncConsumer> consumer = new ConsumerLocal<>();

	// The listener adapter acknowledges a delivery on the thread of the result before it
	// reports its failure, and passes only the record.
	private final ThreadLocal<@Nullable AsyncDelivery> acknowledged = new ThreadLocal<>();

	// Register a consumer on its thread.
	public void register(Object listener, ConsumerSeekCallback callback) {
		RecordMessagingMessageListenerAdapter<?, ?> adapter = adapter(listener);
		if (adapter == null || !adapter.isAsyncReplies()) {
			return;
		}
		AsyncConsumer current = this.consumer.find();
		if (current == null || current.results.consumer() != callback) {
			FailedResults results = FailedResults.of(callback);
			if (results == null) {
				return;
			}
			this.consumer.set(new AsyncConsumer(results, RetainedPartitions.of(callback), new ConcurrentHashMap<>(),
					new ConcurrentHashMap<>()));
		}
		Runnable toThis = () -> adapter.setCallbackForAsyncFailure(this::report);
		this.route = toThis;
		toThis.run();
	}

	private static @Nullable RecordMessagingMessageListenerAdapter<?, ?> adapter(Object listener) {
		Object target = listener;
		while (target instanceof DelegatingMessageListener<?> delegating) {
			target = delegating.getDelegate();
		}
		return (target instanceof RecordMessagingMessageListenerAdapter<?, ?> adapter) ? adapter : null;
	}

	public boolean isActive() {
		return this.route != null;
	}

	// Note that partitions are no longer assigned to the consumer of this thread.
	// Their unacknowledged records are redelivered.
	public void revoked(Collection<TopicPartition> partitions) {
		AsyncConsumer current = this.consumer.find();
		if (current != null) {
			partitions.forEach((partition) -> {
				current.retried.remove(partition);
				current.ignoreFrom(partition, 0);
			});
		}
	}

	// Note that partitions have been assigned to the consumer of this thread.
	public void assigned() {
		AsyncConsumer current = this.consumer.find();
		if (current != null) {
			current.retained.assigned();
		}
	}

	// Skip a record on the thread of its consumer if an earlier record of its
	// partition is retried. It is redelivered after that.
	public boolean skip(ConsumerRecord<?, ?> record) {
		AsyncConsumer current = this.consumer.find();
		if (current == null || !isBehindRetry(record)) {
			return false;
		}
		current.results.forget(List.of(record));
		return true;
	}

	// Return on the thread of the consumer whether an earlier record of the partition
	// has been redelivered and is retried.
	public boolean isBehindRetry(ConsumerRecord<?, ?> record) {
		AsyncConsumer current = this.consumer.find();
		if (current == null || current.retried.isEmpty()) {
			return false;
		}
		TopicPartition partition = Coordinates.partition(record);
		Long first = current.retried.get(partition);
		if (first == null || record.offset() <= first) {
			return false;
		}
		if (current.get(partition, first) == null) {
			// The application has sought forward, or an
			// interceptor has removed the record.
			current.retried.remove(partition);
			return false;
		}
		return true;
	}

	// Begin the delivery of a record on the thread of its consumer.
	public @Nullable Acknowledgment begin(ConsumerRecord<?, ?> record, @Nullable Acknowledgment acknowledgment) {
		AsyncConsumer current = this.consumer.find();
		if (current == null || acknowledgment == null) {
			return acknowledgment;
		}
		AsyncDelivery delivery = new AsyncDelivery(record, current, acknowledgment);
		// The consumer may have sought back.
		current.ignoreFrom(delivery.partition, record.offset());
		current.add(delivery);
		return delivery;
	}

	// Note that the listener adapter has handled a result on this thread. A failure
	// that it has acknowledged and not reported was accepted by an error handler of
	// the listener.
	public void end() {
		AsyncDelivery handled = this.acknowledged.get();
		if (handled != null) {
			this.acknowledged.remove();
			handled.accept();
		}
	}

	private void report(ConsumerRecord<?, ?> record, RuntimeException exception) {
		AsyncDelivery delivery = this.acknowledged.get();
		this.acknowledged.remove();
		if (delivery != null && Coordinates.isSame(delivery.record, record)) {
			delivery.report(exception);
		}
		else {
			// The application has completed the future of a method that is still running.
			logger.debug("A failed result is reported when its method has ended: " + KafkaUtils.format(record),
					exception);
		}
	}

	// Note on the thread of the consumer that records are redelivered, and with the
	// first one the later records of its partition.
	public void redelivered(List<? extends ConsumerRecord<?, ?>> records, boolean async) {
		AsyncConsumer current = this.consumer.find();
		if (current == null || records.isEmpty()) {
			return;
		}
		ConsumerRecord<?, ?> failed = records.get(0);
		TopicPartition partition = Coordinates.partition(failed);
		if (async) {
			current.retried.put(partition, failed.offset());
			soughtBack(partition, failed.offset());
		}
		else {
			current.ignoreFrom(partition, failed.offset());
			current.results.forget(records);
		}
	}

	// Note on the thread of the consumer that it has sought back.
	public void soughtBack(TopicPartition partition, long offset) {
		AsyncConsumer current = this.consumer.find();
		if (current != null) {
			current.ignoreFrom(partition, offset);
			current.results.forgetFrom(partition, offset);
		}
	}

	// Note on the thread of the consumer that the error handler has handled a failed
	// record, or that a retry has succeeded.
	public boolean handled(List<? extends ConsumerRecord<?, ?>> records) {
		AsyncConsumer current = this.consumer.find();
		if (current == null || records.isEmpty()) {
			return false;
		}
		if (records.size() > 1) {
			// The container would wait for their acknowledgments.
			current.results.forget(records.subList(1, records.size()));
		}
		ConsumerRecord<?, ?> handled = records.get(0);
		AsyncDelivery delivery = current.get(Coordinates.partition(handled), handled.offset());
		if (delivery == null) {
			return false;
		}
		current.remove(delivery);
		boolean skipped = current.retried.remove(delivery.partition, delivery.record.offset());
		delivery.settle();
		return skipped;
	}

	/**
	 * The delivery of one record, and its acknowledgment.
	 */
	public final class AsyncDelivery extends DelegatingAcknowledgment {

		private final ConsumerRecord<?, ?> record;

		private final TopicPartition partition;

		private final AsyncConsumer consumer;

		// The following state is written under the monitor.
		private volatile boolean failing;

		private volatile boolean ignored;

		private boolean retrySucceeded;

		private boolean acknowledgeable;

		private AsyncDelivery(ConsumerRecord<?, ?> record, AsyncConsumer consumer, Acknowledgment delegate) {
			super(delegate);
			this.record = record;
			this.partition = Coordinates.partition(record);
			this.consumer = consumer;
		}

		// Note that the result is about to fail.
		public synchronized void failing() {
			this.failing = true;
			this.retrySucceeded = false;
		}

		public boolean isFailing() {
			return this.failing;
		}

		// Note that the method has failed after the application had completed its
		// result.
		public synchronized void failedLate(RuntimeException exception) {
			this.acknowledgeable = true;
			this.failing = true;
			report(exception);
		}

		@Override
		public synchronized void acknowledge() {
			this.acknowledgeable = true;
			AsyncRetries.this.acknowledged.set(this);
			// The adapter may report a failure next, and a consumer that is being
			// created may just have directed all failures to itself.
			Runnable current = AsyncRetries.this.route;
			if (current != null) {
				current.run();
			}
			if (!this.failing) {
				succeed();
			}
		}

		private void succeed() {
			Long retried = this.consumer.retried.get(this.partition);
			if (retried == null || retried != this.record.offset()) {
				passOn();
			}
			else if (!this.retrySucceeded && !this.ignored) {
				this.retrySucceeded = true;
				this.consumer.results.report(this.record,
						new AsyncOutcome(null, () -> isRedelivered() || this.failing));
			}
		}

		private synchronized void accept() {
			if (this.failing) {
				this.failing = false;
				succeed();
			}
		}

		private synchronized void report(RuntimeException exception) {
			if (!this.ignored) {
				if (!this.failing) {
					// Already acknowledged: not the result of a protected method.
					this.failing = true;
					this.consumer.add(this);
				}
				this.consumer.results.report(this.record, new AsyncOutcome(exception, this::isRedelivered));
			}
		}

		// On the thread of the consumer. A delivery that is acknowledged before it fails
		// may be behind a record that is retried.
		private boolean isRedelivered() {
			Long retried = this.consumer.retried.get(this.partition);
			return this.ignored || (retried != null && retried < this.record.offset());
		}

		private synchronized void settle() {
			this.failing = false;
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
				try {
					this.delegate.acknowledge();
				}
				catch (RuntimeException ex) {
					logger.warn("The offset of an asynchronous record was not committed; "
							+ "the next commit of its partition includes it: " + this, ex);
					this.consumer.results.forgetEmpty(this.partition);
				}
			}
		}

	}

	/**
	 * Reports the asynchronous result of a record between two polls. Its cause is the
	 * failure of the result, {@code null} if a retry has succeeded.
	 */
	@SuppressWarnings("serial")
	public static final class AsyncOutcome extends RuntimeException {

		private final BooleanSupplier redelivered;

		private AsyncOutcome(@Nullable RuntimeException failure, BooleanSupplier redelivered) {
			super((failure != null) ? "The result has failed" : "The retry has succeeded", failure, false, false);
			this.redelivered = redelivered;
		}

		// Return whether the record is or will be delivered again, so that the outcome
		// does not matter.
		public boolean isRedelivered() {
			return this.redelivered.getAsBoolean();
		}

	}

	/**
	 * A consumer of the container.
	 *
	 * @param results reports results to the consumer
	 * @param retained the partitions that it keeps in a rebalance
	 * @param deliveries the deliveries that are not acknowledged, by their offsets
	 * @param retried the offset of the record that is retried
	 */
	private record AsyncConsumer(FailedResults results, RetainedPartitions retained,
			Map<TopicPartition, ConcurrentNavigableMap<Long, AsyncDelivery>> deliveries,
			Map<TopicPartition, Long> retried) {

		private ConcurrentNavigableMap<Long, AsyncDelivery> open(TopicPartition partition) {
			return this.deliveries.computeIfAbsent(partition, (key) -> new ConcurrentSkipListMap<>());
		}

		void add(AsyncDelivery delivery) {
			open(delivery.partition).putIfAbsent(delivery.record.offset(), delivery);
		}

		@Nullable AsyncDelivery get(TopicPartition partition, long offset) {
			return open(partition).get(offset);
		}

		void remove(AsyncDelivery delivery) {
			open(delivery.partition).remove(delivery.record.offset(), delivery);
		}

		void ignoreFrom(TopicPartition partition, long first) {
			Map<Long, AsyncDelivery> behind = open(partition).tailMap(first, true);
			behind.values().forEach(AsyncDelivery::ignore);
			behind.clear();
		}

	}

}
