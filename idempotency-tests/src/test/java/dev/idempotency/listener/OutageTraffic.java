/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * A producer that sends twenty records per second to the three partitions of
 * {@link OutageListeners}.
 */
final class OutageTraffic implements AutoCloseable {

	static final int PARTITIONS = 3;

	private static final Log logger = LogFactory.getLog(OutageTraffic.class);

	private static final Duration PATIENCE = Duration.ofSeconds(60);

	private final String topic = Servers.newTopic("outage", PARTITIONS);

	private final ScheduledExecutorService producer = Executors.newSingleThreadScheduledExecutor();

	// A record goes to the partition of its number.
	private final List<String> sent = new CopyOnWriteArrayList<>();

	private final IntFunction<String> keys;

	private final ConfigurableApplicationContext context;

	private final OutageListeners listeners;

	private final int assignments;

	OutageTraffic(TestApp app) {
		this(app, (number) -> "k" + number);
	}

	OutageTraffic(TestApp app, IntFunction<String> keys) {
		this.keys = keys;
		this.context = app.with("topic", this.topic)
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", 15_000)
			// A slow machine handles them between two polls, also after an outage.
			.with("spring.kafka.consumer.max-poll-records", 30)
			.run();
		this.listeners = TestApp.target(this.context, OutageListeners.class);
		await().atMost(PATIENCE).until(() -> containers().allMatch(OutageTraffic::isComplete));
		this.producer.scheduleAtFixedRate(this::send, 0, 50, TimeUnit.MILLISECONDS);
		long start = System.nanoTime();
		IntStream.range(0, PARTITIONS)
			.forEach(
					(partition) -> await().atMost(PATIENCE).until(() -> effects().since(partition, start).count() > 5));
		this.assignments = this.listeners.assignments().get();
	}

	private Stream<ConcurrentMessageListenerContainer<?, ?>> containers() {
		return this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainers()
			.stream()
			.map((container) -> (ConcurrentMessageListenerContainer<?, ?>) container);
	}

	// All consumers have joined. Every later assignment belongs to a rebalance.
	private static boolean isComplete(ConcurrentMessageListenerContainer<?, ?> container) {
		return container.getContainers().size() == container.getConcurrency() && container.getContainers()
			.stream()
			.allMatch((one) -> one.getAssignedPartitions().size() == PARTITIONS / container.getConcurrency());
	}

	private void send() {
		int number = this.sent.size();
		send(number % PARTITIONS, this.keys.apply(number));
		this.sent.add(this.keys.apply(number));
	}

	// Sends a record whose value is its key.
	void send(int partition, String key) {
		Kafka.send(Kafka.record(this.topic, partition, key, key));
	}

	// Waits during an outage while records are sent.
	void goOn(Duration outage) {
		int before = this.sent.size();
		await().pollDelay(outage).atMost(outage.plus(PATIENCE)).until(() -> this.sent.size() > before + 50);
	}

	OutageListeners listeners() {
		return this.listeners;
	}

	OutageEffects effects() {
		return this.listeners.effects();
	}

	int rebalances() {
		return this.listeners.assignments().get() - this.assignments;
	}

	ConfigurableApplicationContext context() {
		return this.context;
	}

	// Waits until every partition is consumed again.
	Duration resumption(String what, long since) {
		Duration slowest = IntStream.range(0, PARTITIONS).mapToObj((partition) -> {
			await().atMost(PATIENCE).until(() -> effects().since(partition, since).findFirst().isPresent());
			return Duration.ofNanos(effects().since(partition, since).findFirst().orElseThrow().nanos() - since);
		}).max(Duration::compareTo).orElseThrow();
		logger.info(what + ": consumption resumed after " + slowest);
		return slowest;
	}

	// Stops sending, waits until all records are
	// consumed, and sends every key once more.
	List<String> endAndRepeat() throws InterruptedException {
		this.producer.shutdown();
		assertThat(this.producer.awaitTermination(10, TimeUnit.SECONDS)).isTrue();
		awaitConsumption();
		IntStream.range(0, this.sent.size()).forEach((number) -> send(number % PARTITIONS, this.sent.get(number)));
		awaitConsumption();
		logger.info("Doubled: " + effects().doubled() + ", lost their keys: " + this.listeners.lost());
		return this.sent;
	}

	private void awaitConsumption() {
		containers().forEach((container) -> await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(Kafka.lag(container.getGroupId(), this.topic)).isZero()));
	}

	@Override
	public void close() {
		this.producer.shutdownNow();
		this.context.close();
	}

}
