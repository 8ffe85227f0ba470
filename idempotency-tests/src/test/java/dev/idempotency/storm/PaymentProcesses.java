/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.List;
import java.util.Set;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.evidence.EvidenceRun;
import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

/**
 * The application whose processes consume the payments of a topic in one group.
 */
final class PaymentProcesses {

	static final int THREADS = 4;

	private final String topic = Servers.newTopic("payments", PaymentTraffic.PARTITIONS);

	private final Shape shape;

	private final Store store;

	private final TestApp app;

	private final JdbcTemplate jdbc;

	PaymentProcesses(Shape shape, Store store) {
		this.shape = shape;
		this.store = store;
		String database = store.newDatabase();
		this.jdbc = store.jdbc(database);
		ChargeLog.create(this.jdbc);
		this.app = store.configure(app(shape, this.topic)).database(database);
	}

	static TestApp app(Shape shape, String topic) {
		return shape.configure(TestApp.of(PaymentApp.class))
			.with("topic", topic)
			.with(EvidenceRun.FAULT, CompletionFirst.isEnabled())
			.with("idempotency.lease", "5s")
			.with("spring.kafka.listener.concurrency", THREADS)
			.with("spring.kafka.consumer.properties.session.timeout.ms", 3000)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 1000);
	}

	ChildApplication application() {
		return this.app.child().name(name().replace(", ", "-")).readyWhenOutputContains(PaymentApp.STARTED);
	}

	String topic() {
		return this.topic;
	}

	String name() {
		return this.shape + ", " + this.store;
	}

	long lag() {
		return Kafka.lag(this.topic, this.topic);
	}

	List<Charge> charges() {
		return this.shape.charges(this.topic, this.jdbc);
	}

	void assertRepeatedOnlyByKilledProcesses(Charges charges, Set<Long> killed) {
		charges.assertRepeatedOnlyByKilledProcesses(killed, THREADS * this.shape.openPerThread(), this.shape.window());
	}

}
