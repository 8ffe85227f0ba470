/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Random;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.testsupport.KafkaCluster;
import dev.idempotency.testsupport.Servers;

/**
 * An application on servers of which one fails.
 */
final class FailoverTrial implements Trial {

	private final Shape shape;

	private final Failure failure;

	private final String database;

	private final JdbcTemplate jdbc;

	private final PaymentTopic topic;

	FailoverTrial(Shape shape, Failure failure, Random random) {
		this.shape = shape;
		this.failure = failure;
		this.database = failure.newDatabase();
		this.jdbc = Servers.jdbc(this.database);
		TimedCharges.create(this.jdbc);
		KafkaCluster kafka = failure.kafka();
		this.topic = (kafka != null) ? PaymentTopic.of(kafka.bootstrapServers(), kafka::createTopic, random)
				: PaymentTopic.shared(random);
	}

	@Override
	public ChildApplication application() {
		return this.failure.configure(PaymentProcesses.app(this.shape, this.topic.name()).database(this.database))
			.child()
			.name("failover")
			.readyWhenOutputContains(PaymentApp.STARTED);
	}

	@Override
	public PaymentTopic topic() {
		return this.topic;
	}

	@Override
	public JdbcTemplate jdbc() {
		return this.jdbc;
	}

	TimedCharges charges() {
		return TimedCharges.read(this.jdbc);
	}

	@Override
	public void close() {
		this.topic.close();
	}

}
