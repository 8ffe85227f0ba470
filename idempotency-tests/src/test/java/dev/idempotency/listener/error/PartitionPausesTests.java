/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.RecordInterceptor;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.listener.consumer.ConsumerLocal;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link PartitionPauses}: the thread of the test is that of the consumer, and
 * does what a container does around its polls.
 */
@Tag("promise-13")
class PartitionPausesTests {

	private static final TopicPartition FIRST = new TopicPartition("payments", 0);

	private static final TopicPartition SECOND = new TopicPartition("payments", 1);

	private final PartitionPauses pauses = new PartitionPauses();

	private final Container container = new Container();

	private final FailingConsumer consumer = new FailingConsumer();

	@BeforeEach
	void assign() {
		this.consumer.assign(List.of(FIRST, SECOND));
		poll();
	}

	@AfterEach
	void end() {
		this.pauses.stop();
		ConsumerLocal.end();
	}

	// Returns the partitions that are paused during the poll.
	private Set<TopicPartition> poll() {
		return poll(() -> {
		});
	}

	private Set<TopicPartition> poll(Runnable meanwhile) {
		this.pauses.beforePoll(this.consumer);
		Set<TopicPartition> paused = Set.copyOf(this.consumer.paused());
		meanwhile.run();
		this.pauses.afterPoll(this.consumer);
		return paused;
	}

	// Kafka forgets the pauses of revoked partitions.
	private void reassign(TopicPartition... partitions) {
		this.consumer.resume(this.consumer.paused());
		this.consumer.assign(List.of(partitions));
	}

	private void block(TopicPartition partition) {
		block(partition, new OperationInProgressException("in progress", Duration.ZERO));
	}

	private void block(TopicPartition partition, OperationInProgressException reason) {
		this.pauses.pause(this.container, this.consumer,
				new ConsumerRecord<>(partition.topic(), partition.partition(), 7, "", ""), reason);
	}

	@Test
	void partitionIsPausedDuringPollsOnly() {
		block(FIRST);
		assertThat(this.consumer.paused()).isEmpty();
		assertThat(poll()).containsExactly(FIRST);
		assertThat(this.consumer.paused()).isEmpty();
		assertThat(poll()).containsExactly(FIRST);
	}

	@Test
	void partitionIsResumedAfterTheDelayAndTheConsumerWakesUp() throws InterruptedException {
		long start = System.nanoTime();
		block(FIRST);
		block(FIRST);
		assertThat(this.container.calls.take()).isEqualTo("resume " + new TopicPartition("", -1));
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofSeconds(1));
		assertThat(poll()).isEmpty();
		assertThat(this.container.calls).as("of one block").isEmpty();
	}

	@Test
	@Tag("promise-2")
	void partitionIsResumedWhenTheExecutionThatBlocksItEnds() throws InterruptedException {
		CompletableFuture<?> ended = new CompletableFuture<>();
		block(FIRST, new OperationInProgressException("in progress", Duration.ofHours(1), ended));
		assertThat(poll()).containsExactly(FIRST);
		long end = System.nanoTime();
		ended.complete(null);
		assertThat(this.container.calls.take()).isEqualTo("resume " + new TopicPartition("", -1));
		assertThat(Duration.ofNanos(System.nanoTime() - end)).isLessThan(Duration.ofSeconds(4));
		assertThat(poll()).isEmpty();
		block(FIRST, new OperationInProgressException("in progress", Duration.ofHours(1)));
		await().during(Duration.ofMillis(200)).until(() -> poll().contains(FIRST));
	}

	@Test
	void partitionIsResumedAtOnceIfTheExecutionHasEndedMeanwhile() throws InterruptedException {
		long start = System.nanoTime();
		block(FIRST, new OperationInProgressException("in progress", Duration.ofHours(1),
				CompletableFuture.completedStage(null)));
		assertThat(this.container.calls.take()).isEqualTo("resume " + new TopicPartition("", -1));
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(4));
	}

	@Test
	void partitionPausedByTheApplicationStaysPaused() {
		block(FIRST);
		this.consumer.pause(List.of(FIRST));
		assertThat(poll()).containsExactly(FIRST);
		assertThat(this.consumer.paused()).containsExactly(FIRST);
	}

	@Test
	void blockedPartitionIsPausedAgainWhenTheContainerHasResumedIt() {
		block(FIRST);
		assertThat(poll(() -> this.consumer.resume(this.consumer.paused()))).containsExactly(FIRST);
		assertThat(poll()).containsExactly(FIRST);
	}

	@Test
	void partitionThatTheContainerPausesInARebalanceStaysPaused() {
		block(FIRST);
		poll(() -> {
			BlockedRecordHandling.revoked(List.of(FIRST, SECOND));
			reassign(FIRST, SECOND);
			this.consumer.pause(List.of(FIRST, SECOND));
		});
		assertThat(this.consumer.paused()).containsExactlyInAnyOrder(FIRST, SECOND);
	}

	@Test
	void blockedPartitionIsPausedInThePollThatAssignsIt() {
		block(FIRST);
		poll(() -> {
			BlockedRecordHandling.revoked(List.of(FIRST, SECOND));
			reassign(FIRST, SECOND);
			assertThat(this.consumer.paused()).isEmpty();
			new BlockedAwareErrorHandler(new DefaultErrorHandler(), this.pauses, (record) -> {
			}, new AsyncRetries()).onPartitionsAssigned(this.consumer, List.of(FIRST, SECOND), () -> {
			});
			assertThat(this.consumer.paused()).containsExactly(FIRST);
		});
		assertThat(this.consumer.paused()).isEmpty();
	}

	@Test
	void partitionThatIsNoLongerAssignedIsLeftOut() {
		block(FIRST);
		poll(() -> reassign(SECOND));
		assertThat(poll()).isEmpty();
	}

	@Test
	void blockDoesNotPauseThePartitionOfAnotherConsumer() {
		block(FIRST);
		FailingConsumer other = new FailingConsumer();
		other.assign(List.of(FIRST));
		this.pauses.beforePoll(other);
		assertThat(other.paused()).isEmpty();
	}

	@Test
	void partitionThatCannotBeResumedIsResumedAfterTheNextPoll() {
		block(FIRST);
		this.consumer.fails = true;
		poll();
		assertThat(this.consumer.paused()).containsExactly(FIRST);
		this.consumer.fails = false;
		poll();
		assertThat(this.consumer.paused()).isEmpty();
	}

	@Test
	void applicationSeesItsInterceptorsInThoseOfTheLibrary() {
		List<String> called = new ArrayList<>();
		RecordInterceptor<Object, Object> record = (intercepted, consumer) -> {
			called.add("record");
			return intercepted;
		};
		BatchInterceptor<Object, Object> batch = (intercepted, consumer) -> {
			called.add("batch");
			return intercepted;
		};
		this.container.setRecordInterceptor(record);
		this.container.setBatchInterceptor(batch);
		new PollInterceptors(this.container, this.pauses, new AsyncRetries(), null).install(this.container);
		RecordInterceptor<Object, Object> installed = this.container.getRecordInterceptor();
		new PollInterceptors(this.container, this.pauses, new AsyncRetries(), null).install(this.container);
		assertThat(this.container.getRecordInterceptor()).as("after a second call").isSameAs(installed);
		installed.intercept(new ConsumerRecord<>("payments", 0, 0, "", ""), this.consumer);
		this.container.getBatchInterceptor().intercept(ConsumerRecords.empty(), this.consumer);
		assertThat(called).containsExactly("record", "batch");
	}

	private static final class FailingConsumer extends MockConsumer<Object, Object> {

		private boolean fails;

		FailingConsumer() {
			super("earliest");
		}

		@Override
		public synchronized void resume(Collection<TopicPartition> partitions) {
			if (this.fails) {
				throw new IllegalStateException("not now");
			}
			super.resume(partitions);
		}

	}

	private static final class Container extends KafkaMessageListenerContainer<Object, Object> {

		private final BlockingQueue<String> calls = new LinkedBlockingQueue<>();

		Container() {
			super(new DefaultKafkaConsumerFactory<>(Map.of()), new ContainerProperties("payments"));
			setBeanName("listener");
		}

		@Override
		public boolean isRunning() {
			return true;
		}

		@Override
		public MessageListenerContainer getContainerFor(String topic, int partition) {
			return this;
		}

		@Override
		public void pausePartition(TopicPartition partition) {
			super.pausePartition(partition);
			this.calls.add("pause " + partition);
		}

		@Override
		public void resumePartition(TopicPartition partition) {
			super.resumePartition(partition);
			this.calls.add("resume " + partition);
		}

	}

}
