/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.errors.WakeupException;
import org.springframework.core.log.LogAccessor;
import org.springframework.kafka.KafkaException.Level;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.SeekUtils;
import org.springframework.kafka.support.TopicPartitionOffset;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.listener.async.AsyncRetries.AsyncOutcome;
import dev.idempotency.listener.error.BlockedRecordHandling.RejectedRecordException;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.listener.springkafka.PartitionRetryState;

/**
 * Decorates the error handler of a container. A blocked record is neither retried nor
 * recovered by the delegate: its partition is paused, and the record is redelivered
 * without limit. The delegate handles every other failure, with its back-off, attempts
 * and recoverer.
 *
 * @param delegate the error handler
 * @param pauses pauses the partitions of blocked records
 * @param outcomes receives the records that fail and those that the delegate recovers
 * @param asyncRetries the retries of asynchronous results
 */
record BlockedAwareErrorHandler(CommonErrorHandler delegate, PartitionPauses pauses, RecordOutcomes outcomes,
		AsyncRetries asyncRetries) implements CommonErrorHandler, PartitionRetryState.Clearable {

	private static final LogAccessor logger = new LogAccessor(LogFactory.getLog(BlockedAwareErrorHandler.class));

	// For a handler that does not seek, the container keeps the remaining records: it
	// pauses all partitions and forgets which earlier records are in flight. A commit of
	// the blocked record would then pass them. Of several asynchronous results that have
	// failed it keeps only the last record.
	@Override
	public boolean seeksAfterHandling() {
		return ConsumerState.current().blocked != null || this.asyncRetries.isActive()
				|| this.delegate.seeksAfterHandling();
	}

	@Override
	public boolean handleOne(Exception thrownException, ConsumerRecord<?, ?> record, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		OperationBlockedException blocked = OperationBlockedException.in(thrownException);
		if (blocked == null) {
			this.outcomes.failed(record);
			boolean handled = false;
			try {
				handled = this.delegate.handleOne(thrownException, record, consumer, container);
			}
			finally {
				if (!handled) {
					ConsumerState.current().poll.keep(record);
				}
			}
			if (handled) {
				recovered(record, consumer, container);
			}
			return handled;
		}
		ConsumerState.current().poll.keep(record);
		this.pauses.pause(container, consumer, record, blocked);
		return false;
	}

	@Override
	public void handleRemaining(Exception thrownException, List<ConsumerRecord<?, ?>> records, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		ConsumerState.current().blocked = null;
		if (thrownException instanceof AsyncOutcome outcome) {
			if (!outcome.isRedelivered()) {
				handleOutcome(outcome, records, consumer, container);
			}
			return;
		}
		try {
			if (!records.isEmpty() && this.asyncRetries.isBehindRetry(records.get(0))) {
				// A record that cannot be deserialized does not reach the listener.
				redeliver(thrownException, records, consumer, container);
			}
			retryOrRecover(thrownException, records, consumer, container);
		}
		catch (RuntimeException ex) {
			this.asyncRetries.redelivered(records, false);
			throw ex;
		}
		records.stream().limit(1).forEach((record) -> recovered(record, consumer, container));
		handled(records, consumer);
	}

	// A commit of the offset of a recovered record passes the unacknowledged ones before
	// it, as their acknowledgment would do.
	private void recovered(ConsumerRecord<?, ?> record, Consumer<?, ?> consumer, MessageListenerContainer container) {
		if (this.outcomes.isBehindUnacknowledged(record) && isCommitted(record, consumer, container)) {
			this.outcomes.recovered(record);
		}
	}

	// By the container, or by the delegate.
	private boolean isCommitted(ConsumerRecord<?, ?> record, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		ContainerProperties properties = container.getContainerProperties();
		if (properties.getAckMode() != AckMode.MANUAL_IMMEDIATE) {
			return isAckAfterHandle() && !properties.isAsyncAcks();
		}
		TopicPartition partition = Coordinates.partition(record);
		OffsetAndMetadata committed;
		try {
			committed = consumer.committed(Set.of(partition)).get(partition);
		}
		catch (WakeupException ex) {
			// The wake-up is for the poll, which must still see it.
			committed = consumer.committed(Set.of(partition)).get(partition);
			consumer.wakeup();
		}
		return committed != null && committed.offset() > record.offset();
	}

	// Does not throw the exception that makes the container expect a redelivery, because
	// the container would then skip later records by its own rules.
	private void handleOutcome(AsyncOutcome outcome, List<ConsumerRecord<?, ?>> records, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		if (outcome.getCause() instanceof RuntimeException failure) {
			try {
				retryOrRecover(failure, records, consumer, container);
			}
			catch (RuntimeException ex) {
				logger.debug(ex, "A record whose asynchronous result has failed is redelivered");
				this.asyncRetries.redelivered(records, true);
				seek(records.get(0), 0, consumer);
				return;
			}
		}
		handled(records, consumer);
	}

	private void handled(List<ConsumerRecord<?, ?>> records, Consumer<?, ?> consumer) {
		if (this.asyncRetries.handled(records)) {
			seek(records.get(0), 1, consumer);
		}
	}

	private static void seek(ConsumerRecord<?, ?> record, int distance, Consumer<?, ?> consumer) {
		SeekUtils.seekPartitions(consumer, Map.of(Coordinates.partition(record), record.offset() + distance), logger);
	}

	// Seeks, and throws the exception that makes the container expect a redelivery.
	private static void redeliver(Exception thrownException, List<ConsumerRecord<?, ?>> records,
			Consumer<?, ?> consumer, MessageListenerContainer container) {
		SeekUtils.seekOrRecover(thrownException, records, consumer, container, false, (record, ex) -> false, logger,
				Level.DEBUG);
	}

	private void retryOrRecover(Exception thrownException, List<ConsumerRecord<?, ?>> records, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		OperationBlockedException blocked = OperationBlockedException.in(thrownException);
		if (blocked == null) {
			records.stream().limit(1).forEach(this.outcomes::failed);
			if (this.asyncRetries.isActive() && !this.delegate.seeksAfterHandling()) {
				SeekUtils.seekOrRecover(thrownException, records, consumer, container, false,
						(record, ex) -> this.delegate.handleOne(ex, record, consumer, container), logger, Level.DEBUG);
			}
			else {
				this.delegate.handleRemaining(thrownException, records, consumer, container);
			}
			return;
		}
		records.stream().limit(1).forEach((record) -> this.pauses.pause(container, consumer, record, blocked));
		redeliver(thrownException, records, consumer, container);
	}

	@Override
	public void handleBatch(Exception thrownException, ConsumerRecords<?, ?> data, Consumer<?, ?> consumer,
			MessageListenerContainer container, Runnable invokeListener) {
		handle(thrownException, data, consumer, container, invokeListener, (ex, records, invocation) -> {
			this.delegate.handleBatch(ex, records, consumer, container, invocation);
			return ConsumerRecords.empty();
		});
	}

	// Also called for a delegate that does not seek: the container accepts that this
	// handler seeks.
	@Override
	public <K, V> ConsumerRecords<K, V> handleBatchAndReturnRemaining(Exception thrownException,
			ConsumerRecords<?, ?> data, Consumer<?, ?> consumer, MessageListenerContainer container,
			Runnable invokeListener) {
		ConsumerRecords<K, V> kept = handle(thrownException, data, consumer, container, invokeListener,
				(ex, records, invocation) -> {
					ConsumerRecords<K, V> remaining = this.delegate.handleBatchAndReturnRemaining(ex, records, consumer,
							container, invocation);
					// An error handler of the application may return null.
					return (remaining != null) ? remaining : ConsumerRecords.empty();
				});
		ConsumerState.current().poll.keep(kept);
		return kept;
	}

	private <K, V> ConsumerRecords<K, V> handle(Exception thrownException, ConsumerRecords<?, ?> data,
			Consumer<?, ?> consumer, MessageListenerContainer container, Runnable invokeListener,
			BatchHandler<K, V> handler) {
		PartialBatchException partial = PartialBatchException.in(thrownException);
		if (partial != null) {
			ConsumerState.current().commits.commit(partial.committable(data), consumer, container);
			partial.pause(this.pauses, container, consumer);
			redeliver(thrownException, partial.remaining(data), consumer, container);
		}
		BatchListenerFailedException failed = ExceptionCauses.find(BatchListenerFailedException.class, thrownException);
		ConsumerRecord<?, ?> record = (failed != null) ? failed.getRecord() : null;
		// The application may name a record of another batch.
		if (failed != null && record != null
				&& data.records(Coordinates.partition(record))
					.stream()
					.anyMatch((one) -> Coordinates.isSame(one, record))
				&& (failed instanceof RejectedRecordException || this.outcomes.isBehindUnacknowledged(record))) {
			handleAlone(record, failed, thrownException, data, consumer, container, handler);
			return ConsumerRecords.empty();
		}
		data.forEach(this.outcomes::failed);
		try {
			ConsumerRecords<K, V> kept = handler.handle(thrownException, data, guarded(invokeListener));
			if (kept.isEmpty() && isAckAfterHandle()) {
				data.forEach(this.outcomes::recovered);
			}
			return kept;
		}
		catch (BatchSignal ex) {
			return handle(ex.error, data, consumer, container, invokeListener, handler);
		}
	}

	// The delegate receives the record alone: it may ignore which record of a batch was
	// rejected, and it does not say whether it has recovered a record of a batch. The
	// records behind it are redelivered.
	private <K, V> void handleAlone(ConsumerRecord<?, ?> record, BatchListenerFailedException failed,
			Exception thrownException, ConsumerRecords<?, ?> data, Consumer<?, ?> consumer,
			MessageListenerContainer container, BatchHandler<K, V> handler) {
		Map<TopicPartition, Long> next = new HashMap<>();
		List<ConsumerRecord<?, ?>> remaining = new ArrayList<>();
		data.forEach((one) -> {
			if (!remaining.isEmpty() || Coordinates.isSame(one, record)) {
				remaining.add(one);
			}
			else {
				next.put(Coordinates.partition(one), one.offset() + 1);
			}
		});
		this.outcomes.failed(record);
		try {
			ConsumerRecords<?, ?> only = new ConsumerRecords<>(Map.of(Coordinates.partition(record), List.of(record)),
					Map.of());
			ConsumerRecords<K, V> kept = handler.handle(thrownException, only, () -> {
				throw failed;
			});
			if (!kept.isEmpty()) {
				throw failed;
			}
			this.outcomes.recovered(record);
		}
		catch (RebalanceInProgressException | WakeupException ex) {
			// Thrown by the commit of the recovered record. The next one commits its
			// offset.
			this.outcomes.recovered(record);
		}
		catch (RuntimeException ex) {
			ConsumerState.current().commits.commit(next, consumer, container);
			redeliver(ex, remaining, consumer, container);
		}
		if (remaining.size() > 1) {
			next.put(Coordinates.partition(record), record.offset() + 1);
			ConsumerState.current().commits.commit(next, consumer, container);
			redeliver(thrownException, remaining.subList(1, remaining.size()), consumer, container);
		}
	}

	private static Runnable guarded(Runnable invokeListener) {
		ConsumerState state = ConsumerState.current();
		return () -> {
			state.retrying = true;
			try {
				invokeListener.run();
			}
			catch (RuntimeException ex) {
				if (PartialBatchException.in(ex) != null
						|| ExceptionCauses.find(RejectedRecordException.class, ex) != null) {
					throw new BatchSignal(ex);
				}
				throw ex;
			}
			finally {
				state.retrying = false;
			}
		};
	}

	@Override
	public void handleOtherException(Exception thrownException, Consumer<?, ?> consumer,
			MessageListenerContainer container, boolean batchListener) {
		ConsumerState.current().poll.leave();
		this.delegate.handleOtherException(thrownException, consumer, container, batchListener);
	}

	@Override
	public boolean deliveryAttemptHeader() {
		return this.delegate.deliveryAttemptHeader();
	}

	@Override
	public int deliveryAttempt(TopicPartitionOffset topicPartitionOffset) {
		return this.delegate.deliveryAttempt(topicPartitionOffset);
	}

	@Override
	public void clearThreadState() {
		this.delegate.clearThreadState();
	}

	@Override
	public void clearThreadStateFor(Collection<TopicPartition> partitions) {
		PartitionRetryState.clear(this.delegate, partitions);
	}

	@Override
	public boolean isAckAfterHandle() {
		return this.delegate.isAckAfterHandle();
	}

	@Override
	public void setAckAfterHandle(boolean ack) {
		this.delegate.setAckAfterHandle(ack);
	}

	@Override
	public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions,
			Runnable publishPause) {
		// The poll that assigns partitions may return records of them.
		this.pauses.beforePoll(consumer);
		this.delegate.onPartitionsAssigned(consumer, partitions, publishPause);
		BlockedRecordHandling.assigned(partitions);
	}

	@FunctionalInterface
	private interface BatchHandler<K, V> {

		ConsumerRecords<K, V> handle(Exception thrownException, ConsumerRecords<?, ?> data, Runnable invokeListener);

	}

	/**
	 * Leaves the loop in which the delegate invokes the listener again. The delegate
	 * would count an exception as one more failure.
	 */
	@SuppressWarnings("serial")
	private static final class BatchSignal extends Error {

		private final RuntimeException error;

		BatchSignal(RuntimeException error) {
			super(error.getMessage(), error, false, false);
			this.error = error;
		}

	}

}
