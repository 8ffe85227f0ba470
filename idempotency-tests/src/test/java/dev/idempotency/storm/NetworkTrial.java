/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.util.Assert;

import dev.idempotency.test.kill.ChildApplication;
import dev.idempotency.testsupport.DynamoDbClients;
import dev.idempotency.testsupport.FaultyNetwork;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.StoppableKafka;
import dev.idempotency.testsupport.TestApp;

/**
 * An application that reaches one of its servers through a proxy. Its traffic, and those
 * who count, do not.
 */
final class NetworkTrial implements Trial {

	private static final Pattern PORT = Pattern.compile("localhost:(\\d+)/");

	private final NetworkTarget target;

	private final @Nullable StoppableKafka kafka;

	private final String database;

	private final JdbcTemplate jdbc;

	private final FaultyNetwork network;

	private final PaymentTopic topic;

	NetworkTrial(NetworkTarget target, Random random) {
		this.target = target;
		this.database = target.store().newDatabase();
		this.jdbc = target.store().jdbc(this.database);
		ChargeLog.create(this.jdbc);
		if (target == NetworkTarget.BROKER) {
			this.kafka = StoppableKafka.create();
			this.topic = PaymentTopic.of(this.kafka.bootstrapServers(), this.kafka::createTopic, random);
			this.network = this.kafka.proxy();
		}
		else {
			this.kafka = null;
			this.topic = PaymentTopic.shared(random);
			this.network = new FaultyNetwork(port());
		}
	}

	private int port() {
		return switch (this.target) {
			case REDIS -> Servers.redis().port();
			case DYNAMODB -> Servers.dynamoDb().endpoint().getPort();
			default -> {
				Matcher matcher = PORT.matcher(this.database);
				Assert.state(matcher.find(), this.database);
				yield Integer.parseInt(matcher.group(1));
			}
		};
	}

	@Override
	public ChildApplication application() {
		TestApp app = this.target.store()
			.configure(PaymentProcesses.app(this.target.shape(), this.topic.name()))
			.database(this.database);
		int port = this.network.port();
		switch (this.target) {
			case BROKER -> app.with("spring.kafka.bootstrap-servers", "127.0.0.1:" + port);
			case REDIS -> app.with("spring.data.redis.port", port);
			case DYNAMODB -> app.with(DynamoDbClients.ENDPOINT, "http://127.0.0.1:" + port);
			case POSTGRESQL_TRANSACTIONAL, POSTGRESQL_LEASED ->
				app.database(proxied(port) + "?socketTimeout=5&options=-c%20idle_in_transaction_session_timeout=10s");
			case MARIADB_TRANSACTIONAL ->
				app.database(proxied(port) + "&socketTimeout=5000&sessionVariables=idle_transaction_timeout=10");
		}
		return app.child().name("network").readyWhenOutputContains(PaymentApp.STARTED);
	}

	private String proxied(int port) {
		return PORT.matcher(this.database).replaceFirst("localhost:" + port + "/");
	}

	FaultyNetwork network() {
		return this.network;
	}

	@Override
	public PaymentTopic topic() {
		return this.topic;
	}

	@Override
	public JdbcTemplate jdbc() {
		return this.jdbc;
	}

	List<Charge> charges() {
		return ChargeLog.read(this.jdbc);
	}

	@Override
	public void close() {
		this.network.close();
		this.topic.close();
		if (this.kafka != null) {
			this.kafka.close();
		}
	}

}
