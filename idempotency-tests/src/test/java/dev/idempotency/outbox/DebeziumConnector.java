/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

import io.debezium.embedded.Connect;
import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.DebeziumEngine.RecordCommitter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.MemoryOffsetBackingStore;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.testsupport.Servers;

/**
 * The connector of {@code docs/outbox-debezium.md}, run in an embedded engine instead of
 * a Connect worker.
 */
final class DebeziumConnector implements AutoCloseable {

	private final JdbcTemplate jdbc;

	private final String name = Servers.unique("debezium_");

	private final ExecutorService executor = Executors.newSingleThreadExecutor();

	private final ConnectProducer producer;

	private final DebeziumEngine<?> engine;

	private volatile @Nullable String failure;

	/**
	 * Prepare a database and create a connector, without starting it.
	 * @param url the URL of the database
	 * @throws Exception if that fails
	 */
	DebeziumConnector(String url) throws Exception {
		this.jdbc = Servers.jdbc(url);
		DebeziumPage.statements(this.name).forEach(this.jdbc::execute);
		Map<String, String> configuration = DebeziumPage.connector();
		this.producer = new ConnectProducer(configuration);
		Properties properties = new Properties();
		properties.putAll(configuration);
		properties.putAll(test(URI.create(url.substring("jdbc:".length()))));
		this.engine = DebeziumEngine.create(Connect.class)
			.using(properties)
			.using((success, message, error) -> this.failure = success ? null : message + ": " + error)
			.notifying(this::publish)
			.build();
	}

	private Map<String, String> test(URI database) {
		return Map.of("name", this.name, "slot.name", this.name, "database.user", this.name, "database.hostname",
				database.getHost(), "database.port", String.valueOf(database.getPort()), "database.dbname",
				database.getPath().substring(1), "offset.storage", MemoryOffsetBackingStore.class.getName(),
				"offset.flush.interval.ms", "0", "heartbeat.interval.ms", "100");
	}

	void start() {
		this.executor.execute((Runnable) this.engine);
	}

	private void publish(List<ChangeEvent<SourceRecord, SourceRecord>> events,
			RecordCommitter<ChangeEvent<SourceRecord, SourceRecord>> committer) throws InterruptedException {
		this.producer.send(events.stream().map(ChangeEvent::value).toList());
		for (ChangeEvent<SourceRecord, SourceRecord> event : events) {
			committer.markProcessed(event);
		}
		committer.markBatchFinished();
	}

	/**
	 * The error with which the connector has ended.
	 * @return the error, {@code null} while it runs
	 */
	@Nullable String failure() {
		return this.failure;
	}

	String slot() {
		return this.name;
	}

	@Override
	public void close() throws Exception {
		this.engine.close();
		this.executor.shutdown();
		this.executor.awaitTermination(10, TimeUnit.SECONDS);
		this.producer.close();
		// The server may notice the end of the connection later.
		Awaitility.await()
			.until(() -> this.jdbc.queryForList("SELECT 1 FROM pg_replication_slots WHERE slot_name = ? AND active",
					this.name), List::isEmpty);
		this.jdbc.queryForList("SELECT pg_drop_replication_slot(?)", this.name);
		List.of("DROP PUBLICATION " + DebeziumPage.PUBLICATION, "DROP OWNED BY " + this.name, "DROP ROLE " + this.name)
			.forEach(this.jdbc::execute);
	}

}
