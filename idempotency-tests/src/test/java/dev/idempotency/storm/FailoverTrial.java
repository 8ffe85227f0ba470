/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Map;
import java.util.Random;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.KafkaCluster;
import dev.idempotency.testsupport.Servers;

/**
 * An application on servers of which one fails.
 */
final class FailoverTrial implements Trial {

	private final Shape shape;

	private final Failure failure;

	private final String topic = Servers.unique("payments-");

	private final String database;

	private final JdbcTemplate jdbc;

	private final @Nullable KafkaCluster kafka;

	private final @Nullable KafkaProducer<String, String> producer;

	private final PaymentTraffic traffic;

	FailoverTrial(Shape shape, Failure failure, Random random) {
		this.shape = shape;
		this.failure = failure;
		this.database = failure.newDatabase();
		this.jdbc = Servers.jdbc(this.database);
		TimedCharges.create(this.jdbc);
		this.kafka = failure.kafka();
		if (this.kafka != null) {
			this.kafka.createTopic(this.topic, PaymentTraffic.PARTITIONS);
			KafkaProducer<String, String> producer = new KafkaProducer<>(
					Map.of("bootstrap.servers", this.kafka.bootstrapServers()), new StringSerializer(),
					new StringSerializer());
			this.producer = producer;
			this.traffic = new PaymentTraffic(this.topic, random, true, producer::send);
		}
		else {
			this.producer = null;
			Servers.addTopics(PaymentTraffic.PARTITIONS, this.topic);
			this.traffic = new PaymentTraffic(this.topic, random);
		}
	}

	@Override
	public ChildApplication application() {
		return this.failure.configure(PaymentProcesses.app(this.shape, this.topic).database(this.database))
			.child()
			.name("failover")
			.readyWhenOutputContains(PaymentApp.STARTED);
	}

	String topic() {
		return this.topic;
	}

	@Override
	public PaymentTraffic traffic() {
		return this.traffic;
	}

	@Override
	public long effects() {
		return this.jdbc.queryForObject("SELECT count(*) FROM charge", Long.class);
	}

	@Override
	public long lag() {
		return (this.kafka != null) ? Kafka.lagAt(this.kafka.bootstrapServers(), this.topic, this.topic)
				: Kafka.lag(this.topic, this.topic);
	}

	TimedCharges charges() {
		return TimedCharges.read(this.jdbc);
	}

	@Override
	public void close() {
		if (this.producer != null) {
			this.producer.close();
		}
	}

}
