/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.Mode;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for an {@link IdempotencyTemplate} whose store refuses calls for reasons of its
 * own.
 */
@Tag("promise-14")
@Tag("postgresql")
class StoreRefusalTests {

	private static final int TIMES = 12;

	@RegisterExtension
	static TestDatabase database = BatchOf.createDatabase();

	private static String role;

	private static HikariDataSource pool;

	private static JdbcIdempotencyStore store;

	private final CircuitBreaker breaker = CircuitBreaker.of("store",
			CircuitBreakerConfig.custom().slidingWindowSize(10).minimumNumberOfCalls(5).build());

	private final RecordingObserver listener = new RecordingObserver();

	private final AtomicInteger runs = new AtomicInteger();

	private IdempotencyTemplate template;

	@BeforeAll
	static void createRole() {
		role = Servers.unique("role");
		database.jdbc().execute("CREATE ROLE \"" + role + "\" LOGIN PASSWORD 'secret'");
		HikariConfig config = new HikariConfig();
		database.pool().copyStateTo(config);
		config.setUsername(role);
		config.setPassword("secret");
		pool = new HikariDataSource(config);
		grant("SELECT");
		store = new JdbcIdempotencyStore(pool, TestDatabase.TABLE, TestDatabase.TIMEOUT);
	}

	@AfterAll
	static void closePool() {
		pool.close();
	}

	@BeforeEach
	void grantAll() {
		grant("SELECT, INSERT, UPDATE, DELETE");
	}

	@AfterEach
	void close() {
		grantAll();
		if (this.template != null) {
			this.template.close();
		}
	}

	private static void grant(String privileges) {
		String table = " ON " + TestDatabase.TABLE;
		database.jdbc()
			.execute("BEGIN; REVOKE ALL" + table + " FROM \"" + role + "\"; GRANT " + privileges + table + " TO \""
					+ role + "\"; COMMIT");
	}

	private IdempotencyTemplate template(IdempotencyStore someStore, HikariDataSource dataSource, boolean failOpen) {
		this.template = new IdempotencyTemplate(someStore,
				new Settings(null, new JdbcTransactionManager(dataSource), failOpen,
						new Resilience4jStoreCircuit(this.breaker), CompletionCache.NONE, this.listener.observers(),
						List.of(), IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null,
						OperationSpec.Defaults.STANDARD));
		return this.template;
	}

	private IdempotentResult<String> run(IdempotencyKey key, Mode mode) {
		return this.template.execute(TestDatabase.operation(key, mode), new TextCodec(),
				() -> "run " + this.runs.incrementAndGet());
	}

	private void assertRefused(Mode mode, String code) {
		assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
			.isThrownBy(() -> run(TestDatabase.newKey(), mode))
			.withMessageContainingAll("'jdbc'", code, "topic-0@7")
			.satisfies((refusal) -> assertThat(refusal.code()).isEqualTo(code));
	}

	private void assertThatTheCircuitIsClosed() {
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
		assertThat(this.breaker.getMetrics().getNumberOfFailedCalls()).isZero();
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void missingPrivilegeBlocksTheRecordAndLeavesTheCircuitClosed(Mode mode) {
		template(store, pool, false);
		grant("SELECT");
		for (int i = 0; i < TIMES; i++) {
			assertRefused(mode, "42501");
		}
		assertThatTheCircuitIsClosed();
		assertThat(this.listener.outcomes()).hasSize(TIMES).containsOnly(Outcome.REFUSED);
		assertThat(this.listener.storeCalls()).hasSize(TIMES).containsOnly("jdbc CLAIM refused");
		assertThat(this.runs).hasValue(0);
		grantAll();
		assertThat(run(TestDatabase.newKey(), mode).result()).isEqualTo("run 1");
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	@Tag("promise-15")
	void refusedRecordIsNotProcessedWithoutProtection(Mode mode) {
		template(store, pool, true);
		grant("SELECT");
		for (int i = 0; i < TIMES; i++) {
			assertRefused(mode, "42501");
		}
		assertThat(this.runs).hasValue(0);
	}

	@Test
	void handlerWithAnUnsupportedIsolationDoesNotStopTheOthers() {
		try (TestDatabase partitioned = TestDatabase.partitioned()) {
			template(partitioned.store(), partitioned.pool(), false);
			DefaultTransactionDefinition serializable = new DefaultTransactionDefinition();
			serializable.setIsolationLevel(TransactionDefinition.ISOLATION_SERIALIZABLE);
			for (int i = 0; i < TIMES; i++) {
				assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
					.isThrownBy(() -> this.template.execute(
							TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), new TextCodec(),
							TransactionBoundary.of(serializable, () -> false), null, () -> "x"))
					.withMessageContainingAll("25004", "READ COMMITTED");
			}
			assertThat(run(TestDatabase.newKey(), Mode.TRANSACTIONAL).result()).isEqualTo("run 1");
		}
	}

	@Test
	void missingTableIsARefusal() {
		template(store, pool, false);
		database.jdbc().execute("ALTER TABLE " + TestDatabase.TABLE + " RENAME TO elsewhere");
		try {
			for (int i = 0; i < TIMES; i++) {
				assertRefused(Mode.LEASED, "42P01");
			}
		}
		finally {
			database.jdbc().execute("ALTER TABLE elsewhere RENAME TO " + TestDatabase.TABLE);
		}
		assertThatTheCircuitIsClosed();
	}

	@Test
	void readOnlyTransactionIsARefusal() {
		template(store, pool, false);
		DefaultTransactionDefinition readOnly = new DefaultTransactionDefinition();
		readOnly.setReadOnly(true);
		for (int i = 0; i < TIMES; i++) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
				.isThrownBy(
						() -> this.template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL),
								new TextCodec(), TransactionBoundary.of(readOnly, () -> false), null, () -> "x"))
				.withMessageContaining("25006");
		}
		assertThatTheCircuitIsClosed();
	}

	@Test
	@Tag("promise-1")
	void refusedCompletionIsRecordedLaterAndItsHandlerDoesNotRunAgain() {
		template(store, pool, false);
		IdempotencyKey key = TestDatabase.newKey();
		try (Logs logs = Logs.about(key.value())) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(
					() -> this.template.execute(TestDatabase.operation(key, Mode.LEASED), new TextCodec(), () -> {
						grant("SELECT, INSERT");
						return "run " + this.runs.incrementAndGet();
					}));
			for (int i = 0; i < TIMES; i++) {
				assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
					.isThrownBy(() -> run(key, Mode.LEASED));
			}
			assertThat(logs.messages("ERROR")).singleElement().asString().contains("could not be recorded");
		}
		assertThatTheCircuitIsClosed();
		assertThat(this.listener.outcomes()).hasSize(TIMES + 1).containsOnly(Outcome.REFUSED);
		assertThat(this.listener.completions()).containsExactly("failed " + key.value());
		assertThat(this.listener.storeCalls()).contains("jdbc COMPLETE refused");
		grantAll();
		assertThat(run(key, Mode.LEASED)).isEqualTo(new IdempotentResult<>("run 1", true));
		assertThat(this.runs).hasValue(1);
		assertThat(database.record(key).state()).isEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void refusedRecordOfABatchBlocksOnlyTheLaterRecordsOfItsLane(Mode mode) {
		database.jdbc().execute("""
				CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				  IF NEW.key = 'x' THEN RAISE EXCEPTION 'quoted %', NEW.key USING ERRCODE = '22001'; END IF;
				  RETURN NEW; END $$""");
		database.jdbc()
			.execute("CREATE TRIGGER refuse BEFORE INSERT ON " + TestDatabase.TABLE
					+ " FOR EACH ROW EXECUTE FUNCTION refuse()");
		try {
			BatchOf batch = new BatchOf(database, mode, false);
			BatchResult<String> executed = batch.run("a x b | c");
			assertThat(BatchOf.text(executed)).isEqualTo("a - - c");
			assertThat(executed.blocked().get(1)).isInstanceOf(IdempotencyStoreRefusedException.class);
			assertThat(batch.runs()).containsExactly("a c");
			assertThat(batch.outcomes()).contains(Outcome.PROCESSED, Outcome.REFUSED);
			batch.template().close();
		}
		finally {
			database.jdbc().execute("DROP TRIGGER refuse ON " + TestDatabase.TABLE);
		}
	}

	@Test
	void refusalIsLoggedOnceAMinuteWithItsCause() {
		template(store, pool, false);
		grant("SELECT");
		try (Logs logs = Logs.ofThisThread()) {
			for (int i = 0; i < TIMES; i++) {
				assertRefused(Mode.LEASED, "42501");
			}
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("refused", "topic-0@7", "permission denied for table");
		}
	}

}
