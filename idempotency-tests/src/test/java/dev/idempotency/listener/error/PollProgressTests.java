/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.event.ListenerContainerIdleEvent;
import org.springframework.kafka.event.ListenerContainerNoLongerIdleEvent;
import org.springframework.kafka.event.ListenerContainerPartitionNoLongerIdleEvent;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.kafka.mock.MockProducerFactory;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.testsupport.Logs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests that no record of a poll is passed when the container of the running version of
 * Spring Kafka leaves the poll early, and that its last deliveries are in order.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("promise-1")
class PollProgressTests {

	private final ReplayedLog log = new ReplayedLog();

	private final BlockedRecordHandling handling = new BlockedRecordHandling();

	private final List<MockProducer<Object, Object>> producers = new CopyOnWriteArrayList<>();

	private final List<ConsumerRecord<?, ?>> deliveries = new CopyOnWriteArrayList<>();

	private final AtomicBoolean failed = new AtomicBoolean();

	private final AtomicBoolean idle = new AtomicBoolean();

	private KafkaMessageListenerContainer<Object, Object> container;

	@AfterEach
	void stop() {
		this.container.stop();
		this.handling.destroy();
	}

	@ParameterizedTest
	@CsvSource({ "false, true, fenced", "false, true, interceptor", "false, true, after", "false, true, event",
			"false, false, after", "false, false, event", "true, true, fenced", "true, true, interceptor",
			"true, true, event", "true, false, event" })
	void recordsAreRedeliveredWhenTheContainerLeavesThePoll(boolean batch, boolean transactional, String failure) {
		ContainerProperties properties = properties();
		properties.setMessageListener(batch
				? (BatchMessageListener<Object, Object>) (records) -> records.forEach((one) -> deliver(one, failure))
				: (MessageListener<Object, Object>) (record) -> deliver(record, failure));
		if (transactional) {
			properties.setKafkaAwareTransactionManager(
					new KafkaTransactionManager<>(new MockProducerFactory<>((inTransaction, id) -> producer(), "tx-")));
		}
		this.container = container(properties);
		this.container.setRecordInterceptor(new RecordInterceptor<>() {

			@Override
			public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
					Consumer<Object, Object> consumer) {
				failIf(record.partition() == 0 && record.offset() == 1 && failure.equals("interceptor"));
				return record;
			}

			@Override
			public void afterRecord(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
				failIf(failure.equals("after"));
			}

		});
		this.container.setBatchInterceptor(new BatchInterceptor<>() {

			@Override
			public ConsumerRecords<Object, Object> intercept(ConsumerRecords<Object, Object> records,
					Consumer<Object, Object> consumer) {
				failIf(failure.equals("interceptor"));
				return records;
			}

		});
		this.container.setApplicationEventPublisher(
				(event) -> failIf(event instanceof ListenerContainerNoLongerIdleEvent && failure.equals("event")));
		this.handling.install(this.container, (record) -> {
		}, new AsyncRetries());
		try (Logs logs = new Logs()) {
			this.container.start();
			this.log.open();
			await().until(() -> ReplayedLog.PARTITIONS.stream()
				.allMatch((partition) -> last(partition).size() == ReplayedLog.SIZE));
			assertThat(this.failed).isTrue();
			assertThat(ReplayedLog.PARTITIONS)
				.allSatisfy((partition) -> assertThat(last(partition)).isEqualTo(List.of(0L, 1L, 2L)));
			await().until(() -> logs.messages("WARN")
				.stream()
				.anyMatch((message) -> message.startsWith("The container 'leaving' left a poll early.")
						&& message.contains("transaction-id-prefix") == failure.equals("fenced")));
		}
	}

	// The container keeps the records of a poll when its error handler does not seek, or
	// when it is paused immediately, and delivers them after a later poll.
	@ParameterizedTest
	@CsvSource({ "staying, after", "pausing, after", "pausing, event", "both, event" })
	void keptRecordsAreRedeliveredWhenTheContainerLeavesALaterPoll(String keeping, String failure) {
		ContainerProperties properties = properties();
		AtomicBoolean kept = new AtomicBoolean();
		properties.setPauseImmediate(true);
		properties.setMessageListener((MessageListener<Object, Object>) (record) -> {
			if (kept.compareAndSet(false, true)) {
				if (!keeping.equals("staying")) {
					this.container.pause();
				}
				if (!keeping.equals("pausing")) {
					throw new IllegalStateException("fails once");
				}
			}
			this.deliveries.add(record);
		});
		this.container = container(properties);
		DefaultErrorHandler errorHandler = new DefaultErrorHandler(new FixedBackOff(0, 5));
		errorHandler.setSeekAfterError(false);
		this.container.setCommonErrorHandler(errorHandler);
		this.container.setRecordInterceptor(new RecordInterceptor<>() {

			@Override
			public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
					Consumer<Object, Object> consumer) {
				return record;
			}

			@Override
			public void afterRecord(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
				failIf(failure.equals("after")
						&& PollProgressTests.this.deliveries.size() == (keeping.equals("staying") ? 1 : 2));
			}

		});
		this.container.setApplicationEventPublisher((event) -> {
			if (event instanceof ListenerContainerIdleEvent && kept.get()) {
				this.idle.set(true);
			}
			failIf(failure.equals("event") && kept.get() && event instanceof ListenerContainerNoLongerIdleEvent);
		});
		this.handling.install(this.container, (record) -> {
		}, new AsyncRetries());
		this.container.start();
		this.log.open();
		if (!keeping.equals("staying")) {
			await().until(this.container::isContainerPaused);
			// An idle event precedes the delivery of the kept records.
			await().untilTrue(this.idle);
			this.container.resume();
		}
		await().until(() -> ReplayedLog.PARTITIONS.stream()
			.allMatch((partition) -> last(partition).equals(List.of(0L, 1L, 2L))));
		assertThat(this.failed).isTrue();
	}

	@Test
	void keptBatchIsRedeliveredWhenTheContainerLeavesALaterPoll() {
		ContainerProperties properties = properties();
		AtomicBoolean kept = new AtomicBoolean();
		properties.setMessageListener((BatchMessageListener<Object, Object>) (records) -> {
			if (kept.compareAndSet(false, true)) {
				this.container.pause();
				throw new BatchListenerFailedException("fails once", 0);
			}
			this.deliveries.addAll(records);
		});
		this.container = container(properties);
		DefaultErrorHandler errorHandler = new DefaultErrorHandler(new FixedBackOff(0, 5));
		errorHandler.setSeekAfterError(false);
		this.container.setCommonErrorHandler(errorHandler);
		this.container.setApplicationEventPublisher((event) -> {
			if (event instanceof ListenerContainerIdleEvent && kept.get()) {
				this.idle.set(true);
			}
			failIf(kept.get() && event instanceof ListenerContainerNoLongerIdleEvent);
		});
		this.handling.install(this.container, (record) -> {
		}, new AsyncRetries());
		this.container.start();
		this.log.open();
		await().until(this.container::isContainerPaused);
		// An idle event precedes the delivery of the kept batch.
		await().untilTrue(this.idle);
		this.container.resume();
		await().until(() -> ReplayedLog.PARTITIONS.stream()
			.allMatch((partition) -> last(partition).equals(List.of(0L, 1L, 2L))));
		assertThat(this.failed).isTrue();
	}

	@ParameterizedTest
	@CsvSource({ "false, 1", "false, 2", "true, 1", "true, 2" })
	void partitionsOfAPollThatAreDeliveredOneAfterTheOtherAreRedelivered(boolean transactional, int failing) {
		ContainerProperties properties = properties();
		properties.setSubBatchPerPartition(true);
		properties.setIdleEventInterval(null);
		properties.setIdlePartitionEventInterval(10L);
		properties.setMessageListener(
				(BatchMessageListener<Object, Object>) (records) -> records.forEach(this.deliveries::add));
		if (transactional) {
			properties.setKafkaAwareTransactionManager(
					new KafkaTransactionManager<>(new MockProducerFactory<>((inTransaction, id) -> producer(), "tx-")));
		}
		this.container = container(properties);
		AtomicInteger events = new AtomicInteger();
		this.container.setApplicationEventPublisher((event) -> failIf(
				event instanceof ListenerContainerPartitionNoLongerIdleEvent && events.incrementAndGet() == failing));
		this.handling.install(this.container, (record) -> {
		}, new AsyncRetries());
		this.container.start();
		this.log.open();
		await().until(() -> ReplayedLog.PARTITIONS.stream()
			.allMatch((partition) -> last(partition).equals(List.of(0L, 1L, 2L))));
		assertThat(this.failed).isTrue();
	}

	@Test
	void seekOfTheApplicationInAPausedPartitionIsKept() {
		TopicPartition second = ReplayedLog.PARTITIONS.get(1);
		AtomicReference<ConsumerSeekAware.ConsumerSeekCallback> seeks = new AtomicReference<>();
		ContainerProperties properties = properties();
		properties.setMessageListener(new SeekingListener(seeks, this.deliveries));
		this.container = container(properties);
		AtomicBoolean armed = new AtomicBoolean();
		this.container.setApplicationEventPublisher(
				(event) -> failIf(armed.get() && event instanceof ListenerContainerIdleEvent));
		this.handling.install(this.container, (record) -> {
		}, new AsyncRetries());
		this.container.pausePartition(second);
		this.container.start();
		this.log.open();
		await().until(() -> this.deliveries.size() == ReplayedLog.SIZE);
		seeks.get().seek(second.topic(), second.partition(), 2);
		await().until(() -> this.log.position(second) == 2);
		armed.set(true);
		await().untilTrue(this.failed);
		this.container.resumePartition(second);
		await().until(() -> last(second).contains(2L));
		assertThat(last(second)).containsExactly(2L);
	}

	private static ContainerProperties properties() {
		ContainerProperties properties = new ContainerProperties(new TopicPartitionOffset("payments", 0),
				new TopicPartitionOffset("payments", 1));
		properties.setGroupId("payments");
		properties.setIdleEventInterval(10L);
		return properties;
	}

	private KafkaMessageListenerContainer<Object, Object> container(ContainerProperties properties) {
		KafkaMessageListenerContainer<Object, Object> created = new KafkaMessageListenerContainer<>(
				new DefaultKafkaConsumerFactory<>(Map.of()) {
					@Override
					public Consumer<Object, Object> createConsumer(String group, String prefix, String suffix,
							Properties overrides) {
						return PollProgressTests.this.log;
					}
				}, properties);
		created.setBeanName("leaving");
		return created;
	}

	// The offsets that were delivered last, up to the highest one.
	private List<Long> last(TopicPartition partition) {
		List<Long> last = new ArrayList<>();
		this.deliveries.stream().filter((record) -> record.partition() == partition.partition()).forEach((record) -> {
			last.removeIf((offset) -> offset >= record.offset());
			last.add(record.offset());
		});
		return last;
	}

	private void deliver(ConsumerRecord<?, ?> record, String failure) {
		this.deliveries.add(record);
		if (record.partition() == 0 && record.offset() == 1 && failure.equals("fenced")
				&& this.failed.compareAndSet(false, true)) {
			this.producers.get(this.producers.size() - 1).fenceProducer();
		}
	}

	private void failIf(boolean due) {
		if (due && this.failed.compareAndSet(false, true)) {
			throw new IllegalStateException("fails once");
		}
	}

	private MockProducer<Object, Object> producer() {
		MockProducer<Object, Object> producer = new MockProducer<>();
		producer.initTransactions();
		this.producers.add(producer);
		return producer;
	}

	private record SeekingListener(AtomicReference<ConsumerSeekAware.ConsumerSeekCallback> seeks,
			List<ConsumerRecord<?, ?>> deliveries) implements MessageListener<Object, Object>, ConsumerSeekAware {

		@Override
		public void registerSeekCallback(ConsumerSeekCallback callback) {
			this.seeks.set(callback);
		}

		@Override
		public void onMessage(ConsumerRecord<Object, Object> record) {
			this.deliveries.add(record);
		}

	}

}
