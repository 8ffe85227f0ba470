/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.Collection;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.AfterRollbackProcessor;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.ExceptionClassifier;
import org.springframework.kafka.transaction.KafkaAwareTransactionManager;
import org.springframework.transaction.ConfigurableTransactionManager;

import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.listener.springkafka.NestedErrorHandlers;

/**
 * Decorates the error handler and the after-rollback processor of containers, so that
 * blocked records are redelivered until they are processed, and rejected records are not
 * retried.
 *
 * @since 0.1.0
 */
public final class BlockedRecordHandling implements DisposableBean {

	private final PartitionPauses pauses = new PartitionPauses();

	/**
	 * Decorate the handlers of a container that is not running. A second call changes
	 * nothing.
	 * @param container the container
	 * @param outcomes receives the records that fail and those that are recovered
	 * @param asyncRetries the retries of its asynchronous results
	 * @param <K> the type of record keys
	 * @param <V> the type of record values
	 */
	public <K, V> void install(AbstractMessageListenerContainer<K, V> container, RecordOutcomes outcomes,
			AsyncRetries asyncRetries) {
		KafkaAwareTransactionManager<?, ?> manager = container.getContainerProperties()
			.getKafkaAwareTransactionManager();
		CommonErrorHandler errorHandler = container.getCommonErrorHandler();
		if (errorHandler == null && manager == null) {
			// The default of the container.
			errorHandler = new DefaultErrorHandler();
		}
		if (errorHandler != null && !(errorHandler instanceof BlockedAwareErrorHandler)) {
			excludeRejectionsFromRetries(errorHandler);
			container
				.setCommonErrorHandler(new BlockedAwareErrorHandler(errorHandler, this.pauses, outcomes, asyncRetries));
		}
		new PollInterceptors(container, this.pauses, asyncRetries, manager).install(container);
		if (manager != null) {
			installAfterRollback(container, (ConfigurableTransactionManager) manager, outcomes);
		}
	}

	@SuppressWarnings("unchecked")
	private <K, V> void installAfterRollback(AbstractMessageListenerContainer<K, V> container,
			ConfigurableTransactionManager manager, RecordOutcomes outcomes) {
		// Several containers may share a manager.
		if (!manager.getTransactionExecutionListeners().contains(KafkaTransactionCompletions.LISTENER)) {
			manager.addListener(KafkaTransactionCompletions.LISTENER);
		}
		AfterRollbackProcessor<K, V> processor = (AfterRollbackProcessor<K, V>) container.getAfterRollbackProcessor();
		if (!(processor instanceof BlockedAwareAfterRollbackProcessor)) {
			excludeRejectionsFromRetries(processor);
			container.setAfterRollbackProcessor(
					BlockedAwareAfterRollbackProcessor.decorate(processor, this.pauses, outcomes));
		}
	}

	@SuppressWarnings("unchecked")
	private static void excludeRejectionsFromRetries(Object handler) {
		if (handler instanceof ExceptionClassifier classifier) {
			classifier.addNotRetryableExceptions(OperationRejectedException.class, RejectedRecordException.class);
		}
		NestedErrorHandlers.of(handler).forEach(BlockedRecordHandling::excludeRejectionsFromRetries);
	}

	/**
	 * Prepare the current thread for a delivery. Completions that an earlier delivery has
	 * left behind are abandoned, for example because its producer was fenced.
	 * @param transactional whether the container has a Kafka transaction
	 */
	public static void beginDelivery(boolean transactional) {
		if (transactional) {
			KafkaTransactionCompletions.begin();
		}
		ConsumerState.current().blocked = null;
	}

	/**
	 * Note whether the record of the current delivery is blocked, before the container
	 * calls its error handler on the same thread.
	 * @param exception the exception that the listener throws for a blocked record,
	 * {@code null} if the record is not blocked
	 */
	public static void setBlocked(@Nullable RuntimeException exception) {
		ConsumerState.current().blocked = exception;
	}

	/**
	 * Note that the container is about to leave the current poll with an exception.
	 */
	public static void leavePoll() {
		ConsumerState.current().poll.leave();
	}

	/**
	 * Note that the container will seek back to a record that it is delivering, also if
	 * it leaves the poll before.
	 * @param record the record
	 */
	public static void keep(ConsumerRecord<?, ?> record) {
		ConsumerState.current().poll.keep(record);
	}

	/**
	 * Note that the consumer of the current thread is about to pause because of a
	 * negative acknowledgment. The container must pause the partitions of blocked
	 * records, too: another negative acknowledgment in one of them would make it forget
	 * the others.
	 */
	public static void beginNack() {
		PartitionPauses.leave();
	}

	/**
	 * Whether the error handler of the current consumer invokes its batch listener again.
	 * The container ignores a negative acknowledgment then.
	 * @return whether it does
	 */
	public static boolean isRetrying() {
		return ConsumerState.current().retrying;
	}

	/**
	 * Note that partitions are assigned to the consumer of the current thread, and that
	 * the application may have sought in them.
	 * @param partitions the partitions
	 */
	public static void assigned(Collection<TopicPartition> partitions) {
		ConsumerState state = ConsumerState.current();
		if (state.polled != null) {
			state.poll.assigned(state.polled, partitions);
		}
	}

	/**
	 * Note that partitions are no longer assigned to the consumer of the current thread.
	 * @param partitions the partitions
	 */
	public static void revoked(Collection<TopicPartition> partitions) {
		ConsumerState state = ConsumerState.current();
		if (state.polled != null && state.container != null) {
			state.commits.commitAgain(state.polled, state.container, true);
		}
		state.paused.removeAll(partitions);
		state.poll.revoked(partitions);
	}

	/**
	 * Return whether a container has the decorators.
	 * @param container the container
	 * @return whether the application has not replaced one of them
	 */
	public boolean isInstalled(AbstractMessageListenerContainer<?, ?> container) {
		boolean transactional = container.getContainerProperties().getKafkaAwareTransactionManager() != null;
		CommonErrorHandler errorHandler = container.getCommonErrorHandler();
		return PollInterceptors.isInstalled(container)
				&& ((errorHandler != null) ? errorHandler instanceof BlockedAwareErrorHandler : transactional)
				&& (!transactional
						|| container.getAfterRollbackProcessor() instanceof BlockedAwareAfterRollbackProcessor);
	}

	@Override
	public void destroy() {
		this.pauses.stop();
	}

	/**
	 * Makes the error handler of a batch recover a rejected record without a retry. All
	 * records before it in the batch are processed.
	 */
	@SuppressWarnings("serial")
	public static final class RejectedRecordException extends BatchListenerFailedException {

		public RejectedRecordException(OperationRejectedException reason, ConsumerRecord<?, ?> rejected) {
			super(String.valueOf(reason.getMessage()), reason, rejected);
		}

	}

}
