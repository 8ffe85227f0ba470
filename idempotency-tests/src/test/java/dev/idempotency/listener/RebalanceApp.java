/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Collection;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerCustomizer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver;

/**
 * One instance of an application whose instances share a group. The handler of the value
 * {@code slow} runs until it is released.
 */
@Configuration(proxyBeanMethods = false)
class RebalanceApp {

	private final Instance instance;

	RebalanceApp(Instance instance) {
		this.instance = instance;
	}

	@Idempotent(scope = "${topic}", mode = Mode.LEASED)
	@KafkaListener(topics = "${topic}", groupId = "${topic}")
	void listen(ConsumerRecord<String, String> record) throws InterruptedException {
		this.instance.handled.add(record.value());
		if (record.value().equals("slow")) {
			this.instance.running.countDown();
			this.instance.letGo.await(60, TimeUnit.SECONDS);
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Instance implements ConsumerAwareRebalanceListener, OperationObserver {

		final Queue<String> handled = new ConcurrentLinkedQueue<>();

		final Map<String, Outcome> outcomes = new ConcurrentHashMap<>();

		final Queue<Integer> assigned = new ConcurrentLinkedQueue<>();

		final Queue<Integer> revoked = new ConcurrentLinkedQueue<>();

		final Queue<Integer> lost = new ConcurrentLinkedQueue<>();

		final Set<Integer> owned = ConcurrentHashMap.newKeySet();

		final CountDownLatch running = new CountDownLatch(1);

		final CountDownLatch letGo = new CountDownLatch(1);

		@Bean
		static ContainerCustomizer<Object, Object, ConcurrentMessageListenerContainer<Object, Object>> rebalances(
				Instance instance) {
			return (container) -> container.getContainerProperties().setConsumerRebalanceListener(instance);
		}

		@Override
		public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
			partitions.forEach((partition) -> this.assigned.add(partition.partition()));
			partitions.forEach((partition) -> this.owned.add(partition.partition()));
		}

		@Override
		public void onPartitionsRevokedBeforeCommit(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
			partitions.forEach((partition) -> this.revoked.add(partition.partition()));
			partitions.forEach((partition) -> this.owned.remove(partition.partition()));
		}

		@Override
		public void onPartitionsLost(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
			partitions.forEach((partition) -> this.lost.add(partition.partition()));
			partitions.forEach((partition) -> this.owned.remove(partition.partition()));
		}

		@Override
		public void handled(HandledOperation execution) {
			if (execution.key() != null) {
				this.outcomes.put(execution.key().value(), execution.outcome());
			}
		}

	}

}
