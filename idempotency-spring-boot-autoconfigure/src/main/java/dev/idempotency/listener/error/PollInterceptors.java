/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.CompositeBatchInterceptor;
import org.springframework.kafka.listener.CompositeRecordInterceptor;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.transaction.KafkaAwareTransactionManager;

import dev.idempotency.listener.async.AsyncRetries;

/**
 * Intercepts the polls of a container, before and after the interceptors of the
 * application. A container calls {@code setupThreadState} directly before it polls, when
 * it has paused and resumed partitions itself, and {@code clearThreadState} when it has
 * processed or left the poll.
 *
 * @param container the container
 * @param pauses the pauses of partitions during polls
 * @param asyncRetries the retries of its asynchronous results
 * @param manager its Kafka transaction manager, {@code null} if it has none
 */
record PollInterceptors(AbstractMessageListenerContainer<?, ?> container, PartitionPauses pauses,
		AsyncRetries asyncRetries, @Nullable KafkaAwareTransactionManager<?, ?> manager) {

	private static final Log logger = LogFactory.getLog(PollInterceptors.class);

	// The kind of the container's listener may not be known yet.
	<K, V> void install(AbstractMessageListenerContainer<K, V> target) {
		RecordInterceptor<K, V> records = target.getRecordInterceptor();
		if (!(records instanceof RecordPolls)) {
			target.setRecordInterceptor(new RecordPolls<>(records));
		}
		BatchInterceptor<K, V> batches = target.getBatchInterceptor();
		if (!(batches instanceof BatchPolls)) {
			target.setBatchInterceptor(new BatchPolls<>(batches));
		}
		// Without a transaction, the error handler is notified of the exception.
		ApplicationEventPublisher publisher = target.getApplicationEventPublisher();
		if (this.manager != null && publisher != null && !(publisher instanceof Events)) {
			target.setApplicationEventPublisher(new Events(publisher));
		}
	}

	static boolean isInstalled(AbstractMessageListenerContainer<?, ?> container) {
		return container.getRecordInterceptor() instanceof RecordPolls
				&& container.getBatchInterceptor() instanceof BatchPolls;
	}

	private void beforePoll(Consumer<?, ?> consumer) {
		ConsumerState state = ConsumerState.current();
		state.container = this.container;
		state.commits.commitAgain(consumer, this.container, false);
		this.pauses.beforePoll(consumer);
		state.poll.begin(consumer, this.manager != null);
	}

	private void afterPoll(Consumer<?, ?> consumer) {
		ConsumerState state = ConsumerState.current();
		PollProgress poll = state.poll;
		boolean uncommitted = poll.isUncommitted();
		try {
			Map<TopicPartition, Long> sought = poll.end(consumer,
					this.container.getContainerProperties().isSubBatchPerPartition());
			sought.forEach(this.asyncRetries::soughtBack);
			if (!sought.isEmpty()) {
				logger.warn("The container '" + this.container.getListenerId()
						+ "' left a poll early. Its records are redelivered from these offsets on: " + sought
						+ ((this.manager != null && uncommitted) ? fenced(this.manager) : ""));
				// The cause may be one that does not go away.
				if (sought.equals(state.sought)) {
					sought.keySet()
						.forEach((partition) -> this.pauses.pause(this.container, consumer, partition, Duration.ZERO,
								null));
				}
				state.sought = sought;
			}
		}
		catch (RuntimeException ex) {
			logger.debug("The consumer ends, so that its records are redelivered after its next start", ex);
		}
		this.pauses.afterPoll(consumer);
	}

	private static String fenced(KafkaAwareTransactionManager<?, ?> manager) {
		return ". Its Kafka transaction was not committed. If its producer was fenced, another instance uses the same "
				+ "transaction id prefix '" + manager.getProducerFactory().getTransactionIdPrefix()
				+ "': set 'spring.kafka.producer.transaction-id-prefix' to a different text for each instance";
	}

	private final class RecordPolls<K, V> extends CompositeRecordInterceptor<K, V> {

		RecordPolls(@Nullable RecordInterceptor<K, V> application) {
			if (application != null) {
				addRecordInterceptor(application);
			}
		}

		@Override
		public void setupThreadState(Consumer<?, ?> consumer) {
			beforePoll(consumer);
			super.setupThreadState(consumer);
		}

		@Override
		public void clearThreadState(Consumer<?, ?> consumer) {
			afterPoll(consumer);
			super.clearThreadState(consumer);
		}

		@Override
		public @Nullable ConsumerRecord<K, V> intercept(ConsumerRecord<K, V> record, Consumer<K, V> consumer) {
			ConsumerState.current().poll.begin(record);
			return super.intercept(record, consumer);
		}

		@Override
		public void afterRecord(ConsumerRecord<K, V> record, Consumer<K, V> consumer) {
			PollProgress poll = ConsumerState.current().poll;
			poll.end(record);
			super.afterRecord(record, consumer);
			poll.goOn();
		}

	}

	private final class BatchPolls<K, V> extends CompositeBatchInterceptor<K, V> {

		BatchPolls(@Nullable BatchInterceptor<K, V> application) {
			if (application != null) {
				addBatchInterceptor(application);
			}
		}

		@Override
		public void setupThreadState(Consumer<?, ?> consumer) {
			beforePoll(consumer);
			super.setupThreadState(consumer);
		}

		@Override
		public void clearThreadState(Consumer<?, ?> consumer) {
			afterPoll(consumer);
			super.clearThreadState(consumer);
		}

		@Override
		public @Nullable ConsumerRecords<K, V> intercept(ConsumerRecords<K, V> records, Consumer<K, V> consumer) {
			PollProgress poll = ConsumerState.current().poll;
			poll.begin(records);
			ConsumerRecords<K, V> intercepted = super.intercept(records, consumer);
			poll.goOn();
			return intercepted;
		}

	}

	private record Events(ApplicationEventPublisher delegate) implements ApplicationEventPublisher {

		@Override
		public void publishEvent(Object event) {
			try {
				this.delegate.publishEvent(event);
			}
			catch (RuntimeException ex) {
				ConsumerState.current().poll.leave();
				throw ex;
			}
		}

	}

}
