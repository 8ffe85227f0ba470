/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.List;

import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.springframework.core.log.LogAccessor;
import org.springframework.kafka.listener.AfterRollbackProcessor;
import org.springframework.kafka.listener.ContainerProperties.EOSMode;
import org.springframework.kafka.listener.DeliveryAttemptAware;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.SeekUtils;
import org.springframework.kafka.support.TopicPartitionOffset;

import dev.idempotency.OperationBlockedException;

/**
 * Decorates the after-rollback processor of a container with a Kafka transaction. A
 * blocked record is neither retried nor recovered by the delegate: its partition is
 * paused, and the record is redelivered without limit.
 *
 * @param <K> the type of record keys
 * @param <V> the type of record values
 */
class BlockedAwareAfterRollbackProcessor<K, V> implements AfterRollbackProcessor<K, V> {

	private static final LogAccessor logger = new LogAccessor(
			LogFactory.getLog(BlockedAwareAfterRollbackProcessor.class));

	private final AfterRollbackProcessor<K, V> delegate;

	private final PartitionPauses pauses;

	private final RecordOutcomes outcomes;

	private BlockedAwareAfterRollbackProcessor(AfterRollbackProcessor<K, V> delegate, PartitionPauses pauses,
			RecordOutcomes outcomes) {
		this.outcomes = outcomes;
		this.delegate = delegate;
		this.pauses = pauses;
	}

	// The container counts attempts only if the processor has this interface.
	static <K, V> AfterRollbackProcessor<K, V> decorate(AfterRollbackProcessor<K, V> delegate, PartitionPauses pauses,
			RecordOutcomes outcomes) {
		return (delegate instanceof DeliveryAttemptAware aware) ? new AttemptAware<>(delegate, pauses, outcomes, aware)
				: new BlockedAwareAfterRollbackProcessor<>(delegate, pauses, outcomes);
	}

	@Override
	public void process(List<ConsumerRecord<K, V>> records, Consumer<K, V> consumer, MessageListenerContainer container,
			Exception exception, boolean recoverable, EOSMode eosMode) {
		begin(exception);
		OperationBlockedException blocked = OperationBlockedException.in(exception);
		if (blocked == null) {
			records.stream().limit(1).forEach(this.outcomes::failed);
			this.delegate.process(records, consumer, container, exception, recoverable, eosMode);
			return;
		}
		seek(records, consumer);
		this.pauses.pause(container, consumer, records.get(0), blocked);
	}

	@Override
	public void processBatch(ConsumerRecords<K, V> records, List<ConsumerRecord<K, V>> recordList,
			Consumer<K, V> consumer, MessageListenerContainer container, Exception exception, boolean recoverable,
			EOSMode eosMode) {
		begin(exception);
		PartialBatchException partial = PartialBatchException.in(exception);
		if (partial == null) {
			records.forEach(this.outcomes::failed);
			this.delegate.processBatch(records, recordList, consumer, container, exception, recoverable, eosMode);
			return;
		}
		seek(recordList, consumer);
		partial.pause(this.pauses, container, consumer);
	}

	private void begin(Exception exception) {
		if (!isProcessInTransaction()) {
			ConsumerState.current().poll.handled();
		}
		KafkaTransactionCompletions.resolve(exception);
	}

	@SuppressWarnings({ "unchecked", "rawtypes" })
	private void seek(List<ConsumerRecord<K, V>> records, Consumer<K, V> consumer) {
		SeekUtils.doSeeksToBegin((List) records, consumer, logger);
	}

	@Override
	public void clearThreadState() {
		this.delegate.clearThreadState();
	}

	@Override
	public boolean isProcessInTransaction() {
		return this.delegate.isProcessInTransaction();
	}

	private static final class AttemptAware<K, V> extends BlockedAwareAfterRollbackProcessor<K, V>
			implements DeliveryAttemptAware {

		private final DeliveryAttemptAware attempts;

		AttemptAware(AfterRollbackProcessor<K, V> delegate, PartitionPauses pauses, RecordOutcomes outcomes,
				DeliveryAttemptAware attempts) {
			super(delegate, pauses, outcomes);
			this.attempts = attempts;
		}

		@Override
		public int deliveryAttempt(TopicPartitionOffset topicPartitionOffset) {
			return this.attempts.deliveryAttempt(topicPartitionOffset);
		}

	}

}
