/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Collection;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.listener.OutageEffects.Effect;
import dev.idempotency.template.OperationObserver;

/**
 * A leased listener that can be stopped after its effect, and the outcomes of its
 * records.
 */
@Configuration(proxyBeanMethods = false)
class OutageListeners {

	static final String SCOPE = "outage";

	private final OutageEffects effects = new OutageEffects();

	private final Set<String> completed = ConcurrentHashMap.newKeySet();

	private final Queue<String> lost = new ConcurrentLinkedQueue<>();

	private final AtomicInteger assignments = new AtomicInteger();

	private final AtomicBoolean hold = new AtomicBoolean();

	private final CountDownLatch held = new CountDownLatch(1);

	private final CountDownLatch letGo = new CountDownLatch(1);

	private volatile String heldKey;

	@Idempotent(mode = Mode.LEASED, scope = SCOPE)
	@KafkaListener(topics = "${topic}", groupId = "${topic}-leased", concurrency = "${concurrency:1}")
	void leased(ConsumerRecord<String, String> record) throws InterruptedException {
		String key = record.value();
		this.effects.add(new Effect(key, record.partition(), System.nanoTime(), this.completed.contains(key)));
		if (record.partition() == 0 && this.hold.compareAndSet(true, false)) {
			this.heldKey = key;
			this.held.countDown();
			this.letGo.await();
		}
	}

	// Stops the next handler of partition 0.
	String holdOne() throws InterruptedException {
		this.hold.set(true);
		this.held.await();
		return this.heldKey;
	}

	void letGo() {
		this.letGo.countDown();
	}

	OutageEffects effects() {
		return this.effects;
	}

	Set<String> completed() {
		return this.completed;
	}

	Queue<String> lost() {
		return this.lost;
	}

	AtomicInteger assignments() {
		return this.assignments;
	}

	@Bean
	static OperationObserver outcomes(ObjectProvider<OutageListeners> listeners) {
		return new OperationObserver() {

			@Override
			public void handled(HandledOperation execution) {
				String key = execution.key().value();
				switch (execution.outcome()) {
					case PROCESSED, DUPLICATE -> listeners.getObject().completed().add(key);
					case LOST -> listeners.getObject().lost().add(key);
					default -> {
					}
				}
			}

		};
	}

	@Bean
	static ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> countAssignments(
			ObjectProvider<OutageListeners> listeners) {
		return (container) -> container.getContainerProperties()
			.setConsumerRebalanceListener(new ConsumerAwareRebalanceListener() {

				@Override
				public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
					listeners.getObject().assignments().incrementAndGet();
				}

			});
	}

}
