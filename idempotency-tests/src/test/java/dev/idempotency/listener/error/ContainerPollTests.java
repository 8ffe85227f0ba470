/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.event.ConsumerPartitionPausedEvent;
import org.springframework.kafka.event.ConsumerPausedEvent;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.support.TopicPartitionOffset;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.listener.async.AsyncRetries;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests that the container of the running version of Spring Kafka calls the interceptors
 * of {@link PollInterceptors} where {@link PartitionPauses} needs it: between its own
 * pauses and its poll, and before its next pauses.
 */
@Execution(ExecutionMode.CONCURRENT)
@Tag("promise-13")
class ContainerPollTests {

	private static final TopicPartition PARTITION = new TopicPartition("payments", 0);

	// Longer than the test needs for what it does meanwhile.
	private static final Duration DELAY = Duration.ofSeconds(3);

	private final PolledConsumer consumer = new PolledConsumer();

	private final BlockedRecordHandling handling = new BlockedRecordHandling();

	private final Queue<Long> deliveries = new ConcurrentLinkedQueue<>();

	private final Queue<Object> events = new ConcurrentLinkedQueue<>();

	private final AtomicReference<RuntimeException> blocked = new AtomicReference<>(
			new OperationInProgressException("in progress", DELAY));

	private KafkaMessageListenerContainer<Object, Object> container;

	@BeforeEach
	void start() {
		ContainerProperties properties = new ContainerProperties(new TopicPartitionOffset("payments", 0));
		properties.setGroupId("payments");
		properties.setMessageListener((MessageListener<Object, Object>) (record) -> {
			this.deliveries.add(System.nanoTime());
			RuntimeException ex = this.blocked.get();
			if (ex != null) {
				throw ex;
			}
		});
		this.container = new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(Map.of()) {
			@Override
			public Consumer<Object, Object> createConsumer(String group, String prefix, String suffix,
					Properties properties) {
				return ContainerPollTests.this.consumer;
			}
		}, properties);
		this.container.setApplicationEventPublisher((event) -> {
			if (event instanceof ConsumerPartitionPausedEvent || event instanceof ConsumerPausedEvent) {
				this.events.add(event);
			}
		});
		this.handling.install(this.container, (record) -> {
		}, new AsyncRetries());
		this.consumer.updateBeginningOffsets(Map.of(PARTITION, 0L));
		this.consumer
			.schedulePollTask(() -> this.consumer.addRecord(new ConsumerRecord<>("payments", 0, 0, "key", "value")));
		this.container.start();
		await().until(() -> this.deliveries.size() == 1);
	}

	@AfterEach
	void stop() {
		this.container.stop();
		this.handling.destroy();
	}

	private void awaitPolls() {
		int polls = this.consumer.polls;
		await().until(() -> this.consumer.polls > polls + 2);
	}

	private void assertDeliveredAfterTheDelay() {
		await().until(() -> this.deliveries.size() == 2);
		List<Long> times = List.copyOf(this.deliveries);
		assertThat(Duration.ofNanos(times.get(1) - times.get(0))).isGreaterThanOrEqualTo(DELAY);
	}

	@Test
	void blockIsKeptWhenTheContainerIsPausedAndResumed() {
		this.blocked.set(null);
		awaitPolls();
		assertThat(this.consumer.pausedInPoll).isTrue();
		this.container.pause();
		await().until(this.container::isContainerPaused);
		this.container.resume();
		await().until(() -> !this.container.isContainerPaused());
		awaitPolls();
		assertThat(this.consumer.pausedInPoll).isTrue();
		assertDeliveredAfterTheDelay();
		awaitPolls();
		assertThat(this.consumer.pausedInPoll).isFalse();
	}

	@Test
	void pauseOfTheContainerIsKeptWhenTheBlockEnds() {
		this.blocked.set(null);
		this.container.pause();
		await().during(DELAY.plusSeconds(1)).until(() -> this.deliveries.size() == 1);
		assertThat(this.container.isContainerPaused()).isTrue();
		assertThat(this.consumer.pausedInPoll).isTrue();
		this.container.resume();
		await().until(() -> this.deliveries.size() == 2);
	}

	@Test
	void containerReportsOnlyThePausesOfTheApplication() {
		this.blocked.set(null);
		awaitPolls();
		assertThat(this.consumer.pausedInPoll).isTrue();
		assertThat(this.container.isPartitionPaused(PARTITION)).isFalse();
		assertThat(this.container.isPartitionPauseRequested(PARTITION)).isFalse();
		assertThat(this.events).isEmpty();
		this.container.pausePartition(PARTITION);
		await().until(() -> this.container.isPartitionPaused(PARTITION));
		assertThat(this.events).singleElement().isInstanceOf(ConsumerPartitionPausedEvent.class);
		this.container.resumePartition(PARTITION);
		await().until(() -> !this.container.isPartitionPaused(PARTITION));
		awaitPolls();
		assertThat(this.consumer.pausedInPoll).isTrue();
		assertDeliveredAfterTheDelay();
	}

	/**
	 * Delivers a record again after a seek, and notes whether its partition is paused
	 * when it is polled.
	 */
	private static final class PolledConsumer extends MockConsumer<Object, Object> {

		private volatile int polls;

		private volatile boolean pausedInPoll;

		PolledConsumer() {
			super("earliest");
		}

		@Override
		public synchronized ConsumerRecords<Object, Object> poll(Duration timeout) {
			this.pausedInPoll = paused().contains(PARTITION);
			this.polls++;
			try {
				wait(10);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			return super.poll(Duration.ZERO);
		}

		@Override
		public synchronized void seek(TopicPartition partition, long offset) {
			super.seek(partition, offset);
			if (offset == 0 && this.polls > 0) {
				addRecord(new ConsumerRecord<>("payments", 0, 0, "key", "value"));
			}
		}

	}

}
