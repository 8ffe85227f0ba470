/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Named;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;

/**
 * An operation that writes a row of its own, under a key of its own.
 */
final class EffectOperation {

	private final TestDatabase database;

	private final JdbcTemplate jdbc;

	private final IdempotencyTemplate template;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final String value = Servers.unique("value");

	private final RecordingObserver listener = new RecordingObserver();

	private final AtomicInteger runs = new AtomicInteger();

	EffectOperation(TestDatabase database, PlatformTransactionManager manager) {
		this(database, manager, Settings.DEFAULT_MAXIMUM_RESULT_SIZE);
	}

	EffectOperation(TestDatabase database, PlatformTransactionManager manager, DataSize maximumResultSize) {
		this.database = database;
		this.jdbc = new JdbcTemplate(database.pool());
		this.template = new IdempotencyTemplate(database.store(),
				new Settings(null, manager, false, StoreCircuit.ALWAYS_CLOSED, CompletionCache.NONE,
						this.listener.observers(), List.of(), maximumResultSize, null,
						OperationSpec.Defaults.STANDARD));
	}

	static TestDatabase createDatabase() {
		TestDatabase database = TestDatabase.create();
		database.jdbc().execute("CREATE TABLE effect (name varchar(100))");
		return database;
	}

	static List<Named<PlatformTransactionManager>> managers(DataSource dataSource) {
		return List.of(Named.of("JDBC", new JdbcTransactionManager(dataSource)),
				Named.of("DataSource", new DataSourceTransactionManager(dataSource)));
	}

	IdempotentResult<String> run() {
		return this.<RuntimeException>run((jdbc) -> {
		});
	}

	<E extends Exception> IdempotentResult<String> run(Handler<E> handler) throws E {
		return run(new DefaultTransactionDefinition(), handler);
	}

	<E extends Exception> IdempotentResult<String> run(TransactionDefinition definition, Handler<E> handler) throws E {
		IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);
		return this.template.execute(operation, new TextCodec(), TransactionBoundary.of(definition, () -> false), null,
				() -> {
					writeEffect();
					handler.handle(this.jdbc);
					return "run " + this.runs.incrementAndGet();
				});
	}

	<E extends Exception> void runWithoutResult(Handler<E> handler) throws E {
		IdempotentOperation operation = TestDatabase.operation(this.key, Mode.TRANSACTIONAL);
		this.template.execute(operation, ResultCodec.none(), () -> {
			writeEffect();
			handler.handle(this.jdbc);
			return null;
		});
	}

	void writeEffect() {
		this.jdbc.update("INSERT INTO effect VALUES (?)", this.value);
	}

	/**
	 * Commit the transaction of the current thread, without its transaction manager.
	 * @param jdbc the connection of the transaction
	 */
	static void commit(JdbcTemplate jdbc) {
		jdbc.execute((ConnectionCallback<@Nullable Void>) (connection) -> {
			connection.commit();
			return null;
		});
	}

	long effects() {
		return this.database.jdbc()
			.queryForObject("SELECT count(*) FROM effect WHERE name = ?", Long.class, this.value);
	}

	Optional<IdempotencyRecord> record() {
		return one(this.database.store()).find(this.key);
	}

	List<Outcome> outcomes() {
		return this.listener.outcomes();
	}

	/**
	 * A step of the operation beside its effect.
	 *
	 * @param <E> the type of its exception
	 */
	interface Handler<E extends Exception> {

		void handle(JdbcTemplate jdbc) throws E;

	}

}
