/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.function.SingletonSupplier;

import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.test.kill.ChildProcess;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Sends three records to each point of a shape. A first process stops at all points of
 * all shapes and is killed, and a second application of each shape takes over.
 */
final class CrashRun implements AutoCloseable {

	static final Duration LEASE = Duration.ofSeconds(8);

	private static final SingletonSupplier<Map<CrashShape, CrashRun>> ALL = SingletonSupplier.of(CrashRun::runAll);

	private final String topic = Servers.unique("crash");

	private final String database = Servers.newDatabase();

	private final CrashEffects effects = new CrashEffects(Servers.jdbc(this.database));

	private final CrashShape shape;

	private @Nullable ConfigurableApplicationContext second;

	private @Nullable Duration takeover;

	private CrashRun(CrashShape shape) {
		this.shape = shape;
	}

	// The first caller runs all shapes, whose processes start and wait together.
	static CrashRun of(CrashShape shape) {
		return ALL.obtain().get(shape);
	}

	private static Map<CrashShape, CrashRun> runAll() {
		Map<CrashShape, CrashRun> runs = new EnumMap<>(CrashShape.class);
		for (CrashShape shape : CrashShape.values()) {
			runs.put(shape, new CrashRun(shape));
		}
		runs.values().forEach(CrashRun::send);
		// Long enough that a slow machine does not end the session of the first process.
		// That of the second one is longer: its records would run again.
		TestApp all = app(CrashingApp.class).with("crash", true)
			.with("outbox.interceptor", RecordCrashListeners.StuckRelay.class.getName())
			.with("spring.kafka.consumer.properties.session.timeout.ms", 5000)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 1000);
		runs.forEach((shape, run) -> all.with("topic." + shape, run.topic).with("database." + shape, run.database));
		try (ChildProcess first = all.fork()) {
			runs.values().forEach(CrashRun::startSecond);
			// The relay of the second application would publish the messages.
			CrashRun record = runs.get(CrashShape.RECORD);
			record.relay().stop();
			record.sendTo(CrashingApp.OUTBOX);
			runs.keySet()
				.forEach((shape) -> await()
					.untilAsserted(() -> assertThat(first.lines()).containsAll(shape.linesBeforeCrash())));
		}
		long killed = System.nanoTime();
		runs.values().forEach(CrashRun::startListeners);
		runs.get(CrashShape.RECORD).relay().start();
		runs.values().forEach((run) -> run.awaitTakeover(killed));
		return runs;
	}

	private static TestApp app(Class<?>... configuration) {
		return TestApp.of(configuration).with("lease", LEASE.toSeconds() + "s");
	}

	private void send() {
		for (String point : this.shape.points()) {
			Servers.addTopics(1, topic(point));
			if (!point.equals(CrashingApp.OUTBOX)) {
				sendTo(point);
			}
		}
		this.effects.create();
	}

	private void sendTo(String point) {
		List.of("first", "second", "third").forEach((key) -> Kafka.send(topic(point), key, key));
	}

	private void startSecond() {
		TestApp app = app(CrashingApp.class, this.shape.listeners()).with("spring.kafka.listener.auto-startup", false)
			.with("topic." + this.shape, this.topic)
			.with("database." + this.shape, this.database);
		this.shape.settings()
			.map((setting) -> setting.split("=", 2))
			.forEach((setting) -> app.with(setting[0], setting[1]));
		this.second = app.run();
	}

	private void startListeners() {
		this.second.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainers()
			.forEach(MessageListenerContainer::start);
	}

	private OutboxRelay relay() {
		return this.second.getBean(OutboxRelay.class);
	}

	long unpublishedMessages() {
		return this.second.getBean(OutboxStore.class).status().pending();
	}

	private void awaitTakeover(long killed) {
		this.shape.points().forEach(this::awaitConsumed);
		this.takeover = Duration.ofNanos(System.nanoTime() - killed);
	}

	// Sends a copy of a record to the second process.
	void sendAgain(String point, String value) {
		Kafka.send(topic(point), value, value);
		awaitConsumed(point);
	}

	private void awaitConsumed(String point) {
		await().untilAsserted(() -> assertThat(Kafka.lag(topic(point), topic(point))).as(point).isZero());
	}

	String topic(String point) {
		return this.topic + "-" + point;
	}

	CrashEffects effects() {
		return this.effects;
	}

	Duration takeover() {
		return this.takeover;
	}

	@Override
	public void close() {
		this.second.close();
	}

}
