/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

import com.zaxxer.hikari.HikariDataSource;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.producer.KafkaOutboxPublisher;
import dev.idempotency.producer.KafkaOutboxSerializer;

/**
 * The components of an application with an outbox.
 */
final class OutboxSetUp {

	static final OutboxRelay.Settings SETTINGS = new OutboxRelay.Settings(2000, Duration.ofSeconds(1),
			Duration.ofSeconds(20), 10, Duration.ofSeconds(5), Duration.ZERO, 2);

	static final int KEYS = 1000;

	private static final String TABLE = "idempotency_outbox";

	private static final int PARTITIONS = 6;

	private final Servers servers;

	private final @Nullable SlowBroker slow;

	private int topics;

	private final HikariDataSource pool;

	private final JdbcTemplate jdbc;

	private final TransactionTemplate transactions;

	private final DefaultKafkaProducerFactory<Object, Object> producers;

	private final KafkaTemplate<Object, Object> template;

	OutboxSetUp(Servers servers, HikariDataSource pool, @Nullable SlowBroker slow) {
		this.servers = servers;
		this.slow = slow;
		this.pool = pool;
		JdbcSchemaMigration.migrateOutbox(pool, pool, TABLE);
		this.jdbc = new JdbcTemplate(pool);
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(pool));
		this.producers = new DefaultKafkaProducerFactory<>(Map.of("bootstrap.servers",
				(slow != null) ? slow.bootstrapServers() : servers.properties().get("spring.kafka.bootstrap-servers"),
				"linger.ms", 0, "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class));
		this.template = new KafkaTemplate<>(this.producers);
	}

	Servers servers() {
		return this.servers;
	}

	KafkaTemplate<Object, Object> template() {
		return this.template;
	}

	// A message in each partition ensures that the topic is ready.
	String newTopic() {
		String topic = addTopic();
		IntStream.range(0, PARTITIONS).forEach((i) -> this.template.send(topic, i, "key", String.valueOf(-1)).join());
		return topic;
	}

	private String addTopic() {
		if (this.slow == null) {
			return this.servers.newTopic(PARTITIONS);
		}
		String name = "slow-" + ++this.topics;
		this.slow.newTopic(name, PARTITIONS);
		return name;
	}

	JdbcOutboxStore store(Duration retention) {
		return new JdbcOutboxStore(this.pool, new JdbcTransactionManager(this.pool), TABLE, Duration.ofSeconds(5),
				retention, false);
	}

	Outbox outbox(JdbcOutboxStore store, Runnable committed) {
		return Outbox.of(store, new KafkaOutboxSerializer(this.producers), List.of(), committed);
	}

	KafkaOutboxPublisher publisher() {
		return new KafkaOutboxPublisher(this.producers, SETTINGS.sendTimeout(), Set.of());
	}

	void inTransaction(Runnable work) {
		this.transactions.executeWithoutResult((status) -> work.run());
	}

	// In production, autovacuum does this.
	void vacuum() {
		this.jdbc.execute("VACUUM ANALYZE " + TABLE);
	}

	void empty() {
		this.jdbc.execute("TRUNCATE " + TABLE);
	}

}
