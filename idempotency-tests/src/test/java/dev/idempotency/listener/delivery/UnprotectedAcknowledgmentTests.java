/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.listener.AcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.adapter.AbstractDelegatingMessageListenerAdapter;
import org.springframework.kafka.listener.adapter.FilteringMessageListenerAdapter;
import org.springframework.kafka.support.Acknowledgment;

import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.delivery.ContainerAcknowledgments.ConsumerAction;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the acknowledgment of a duplicate waits for unacknowledged records that no
 * protected method has received, such as those of another method of the class.
 */
@Tag("promise-1")
class UnprotectedAcknowledgmentTests {

	private static final TopicPartition PARTITION = new TopicPartition("topic", 0);

	private final ContainerAcknowledgments acknowledgments = new ContainerAcknowledgments(new ConcurrentHashMap<>());

	private final ProtectedListeners listeners = new ProtectedListeners(Object.class, Map.of(), this.acknowledgments,
			true, new TopicIdentities((topic) -> new UUID(0, 0)));

	private final List<Acknowledgment> received = new ArrayList<>();

	private final List<Long> acknowledged = new ArrayList<>();

	private final AcknowledgingConsumerAwareMessageListener<String, String> method = (record, acknowledgment,
			consumer) -> {
		Delivery delivery = Delivery.current();
		assertThat(delivery).isNotNull();
		this.received.add(acknowledgment);
		if ("duplicate".equals(record.value())) {
			delivery.completed(true);
		}
		if ("acknowledging".equals(record.value())) {
			acknowledgment.acknowledge();
		}
		if ("failing".equals(record.value())) {
			throw new IllegalStateException("fails");
		}
	};

	@AfterEach
	void end() {
		ConsumerLocal.end();
	}

	@Test
	void duplicateWaitsForTheAcknowledgmentOfAnEarlierRecord() {
		deliver(this.method, "unprotected", "duplicate");
		assertThat(this.acknowledged).isEmpty();
		this.received.get(0).acknowledge();
		assertThat(this.acknowledged).containsExactly(0L, 1L);
	}

	@Test
	void acknowledgmentOfALaterRecordPassesAnEarlierOne() {
		deliver(this.method, "unprotected", "acknowledging", "duplicate");
		assertThat(this.acknowledged).containsExactly(1L, 2L);
		assertThat(this.acknowledgments.isEmpty()).isTrue();
	}

	@Test
	void duplicateDoesNotWaitForARecordThatAFilterHasDropped() {
		MessageListener<String, String> filter = new FilteringMessageListenerAdapter<>(this.method,
				(record) -> record.value().equals("dropped"));
		deliver(new Decorator(filter), "dropped", "duplicate");
		assertThat(this.acknowledged).containsExactly(1L);
	}

	// The application has decorated the listener of the container, and set it again.
	@Test
	void acknowledgmentIsNotHeldByAnOuterDelivery() {
		DeliveryListener<?, ?> inner = DeliveryListener.decorate(this.method, this.listeners, false);
		deliver(new Decorator((AcknowledgingConsumerAwareMessageListener<String, String>) inner), "unprotected",
				"duplicate");
		assertThat(this.acknowledged).isEmpty();
		this.received.get(0).acknowledge();
		assertThat(this.acknowledged).containsExactly(0L, 1L);
	}

	@Test
	void queuedAcknowledgmentDoesNotMoveTheOffsetOfARecoveredRecordBack() {
		deliver(this.method, "unprotected", "duplicate");
		assertThat(this.listeners.isBehindUnacknowledged(record(2, "recovered"))).isTrue();
		this.listeners.recovered(record(2, "recovered"));
		assertThat(this.acknowledged).isEmpty();
		assertThat(this.acknowledgments.isEmpty()).isTrue();
	}

	@Test
	void recordThatFailsInsideOfADecoratorIsNotPassed() {
		DeliveryListener<?, ?> inner = DeliveryListener.decorate(this.method, this.listeners, false);
		AcknowledgingConsumerAwareMessageListener<String, String> failing = (record, acknowledgment, consumer) -> {
			try {
				deliver(inner, record, acknowledgment);
			}
			catch (IllegalStateException ex) {
				assertThat(ex).hasMessage("fails");
			}
		};
		deliver(failing, "failing", "duplicate");
		assertThat(this.acknowledged).isEmpty();
	}

	@Test
	void acknowledgmentOfSeveralPartitionsDoesNotMoveTheOffsetOfOneBack() {
		this.acknowledgments.add(record(1, 0), null);
		this.acknowledgments.acknowledgeDuplicates(List.of(record(0, 1), record(1, 1)), 1, List.of(), false,
				() -> this.acknowledged.add(1L));
		this.acknowledgments.complete(List.of(record(0, 2)), true);
		this.acknowledgments.complete(List.of(record(1, 0)), false);
		assertThat(this.acknowledged).isEmpty();
	}

	@Test
	void acknowledgmentOfARevokedPartitionIsDropped() {
		this.acknowledgments.add(record(1, 0), null);
		this.acknowledgments.acknowledgeDuplicates(List.of(record(0, 1), record(1, 1)), 1, List.of(), false,
				() -> this.acknowledged.add(1L));
		this.acknowledgments.retain(List.of(new TopicPartition("topic", 1)));
		this.acknowledgments.complete(List.of(record(1, 0)), false);
		assertThat(this.acknowledged).isEmpty();
	}

	@Test
	void acknowledgmentOfAPartThatALaterOneHasPassedIsDropped() throws InterruptedException {
		Thread consumer = new Thread(this.acknowledgments::settle);
		this.acknowledgments.add(record(0, 0), null);
		this.acknowledgments.acknowledge(List.of(record(0, 1)), 1, List.of(), List.of(), false,
				new ConsumerAction(consumer, () -> this.acknowledged.add(1L)));
		assertThat(this.acknowledged).isEmpty();
		this.acknowledgments.acknowledge(List.of(record(0, 3)), 2, List.of(), List.of(), false,
				() -> this.acknowledged.add(3L));
		consumer.start();
		consumer.join();
		assertThat(this.acknowledged).containsExactly(3L);
	}

	@Test
	void recordsOfARevokedPartitionAreForgotten() {
		deliver(this.method, "unprotected");
		assertThat(this.acknowledgments.unacknowledgedPartitions()).containsExactly(PARTITION);
		this.acknowledgments.retain(List.of());
		assertThat(this.acknowledgments.isEmpty()).isTrue();
		this.received.get(0).acknowledge();
		assertThat(this.acknowledged).containsExactly(0L);
	}

	private void deliver(MessageListener<String, String> listener, String... values) {
		DeliveryListener<?, ?> decorated = DeliveryListener.decorate(listener, this.listeners, false);
		for (int offset = 0; offset < values.length; offset++) {
			long acknowledgedOffset = offset;
			deliver(decorated, record(offset, values[offset]), () -> this.acknowledged.add(acknowledgedOffset));
		}
	}

	private static ConsumerRecord<String, String> record(int partition, long offset) {
		return new ConsumerRecord<>("topic", partition, offset, null, null);
	}

	private static ConsumerRecord<String, String> record(long offset, String value) {
		return new ConsumerRecord<>("topic", 0, offset, null, value);
	}

	@SuppressWarnings("unchecked")
	private static <D> void deliver(DeliveryListener<?, D> listener, Object record, Acknowledgment acknowledgment) {
		listener.onMessage((D) record, acknowledgment, (Consumer<?, ?>) null);
	}

	/**
	 * A decorator of the application.
	 */
	private static final class Decorator
			extends AbstractDelegatingMessageListenerAdapter<MessageListener<String, String>>
			implements AcknowledgingConsumerAwareMessageListener<String, String> {

		Decorator(MessageListener<String, String> delegate) {
			super(delegate);
		}

		@Override
		public void onMessage(ConsumerRecord<String, String> record, @Nullable Acknowledgment acknowledgment,
				@Nullable Consumer<?, ?> consumer) {
			this.delegate.onMessage(record, acknowledgment, consumer);
		}

	}

}
