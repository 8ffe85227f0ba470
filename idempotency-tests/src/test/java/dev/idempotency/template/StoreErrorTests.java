/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.InvalidDataAccessResourceUsageException;
import org.springframework.dao.QueryTimeoutException;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link StoreErrors}: which errors of a store are refusals, and which are
 * outages.
 */
@Tag("promise-14")
class StoreErrorTests {

	private static final int TIMES = 12;

	@RegisterExtension
	static TestDatabase database = BatchOf.createDatabase();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final CircuitBreaker breaker = CircuitBreaker.of("store",
			CircuitBreakerConfig.custom().slidingWindowSize(10).minimumNumberOfCalls(5).build());

	private final RecordingObserver listener = new RecordingObserver();

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store,
			new Settings(null, null, false, new Resilience4jStoreCircuit(this.breaker), CompletionCache.NONE,
					this.listener.observers(), List.of(), IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE,
					null, OperationSpec.Defaults.STANDARD));

	@AfterEach
	void close() {
		this.template.close();
	}

	private void run() {
		this.template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), ResultCodec.none(),
				() -> null);
	}

	@Test
	void refusedCompletionOfABatchDoesNotPreventTheOthers() {
		BatchOf batch = new BatchOf(database, Mode.LEASED, false);
		batch.store().before(StoreCall.COMPLETE, (claim) -> {
			if (claim.key().value().equals("x")) {
				throw new IdempotencyStoreRefusedException("The result is too large", null);
			}
		});
		assertThat(BatchOf.text(batch.run("a x"))).isEqualTo("- -");
		assertThat(BatchOf.text(batch.run("a x"))).isEqualTo("[a] -");
		batch.store().recover();
		assertThat(BatchOf.text(batch.run("a x"))).isEqualTo("[a] [x]");
		assertThat(batch.runs()).containsExactly("a x");
		batch.template().close();
	}

	// Such as a store that sends one command for each key.
	@Test
	void recordBehindARefusedOneIsReleasedWhenTheBatchHadClaimedIt() {
		BatchOf batch = new BatchOf(database, Mode.LEASED, false);
		AtomicInteger asked = new AtomicInteger();
		batch.store().before(StoreCall.CLAIM, (claim) -> {
			if (!claim.key().value().equals("x")) {
				one(database.store()).claim(claim);
			}
			if (asked.incrementAndGet() > 1) {
				throw new IdempotencyStoreRefusedException("A node of the cluster refused the command", null);
			}
		});
		assertThat(BatchOf.text(batch.run("x b"))).isEqualTo("- -");
		batch.store().recover();
		assertThat(BatchOf.text(batch.run("x b"))).isEqualTo("x b");
		batch.template().close();
	}

	static Stream<RuntimeException> programmingErrors() {
		return Stream.of(new IllegalArgumentException("x"), new NullPointerException("x"),
				new InvalidDataAccessResourceUsageException("x"));
	}

	@ParameterizedTest
	@MethodSource("programmingErrors")
	void unknownErrorOfAStoreIsARefusal(RuntimeException error) {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw error;
		});
		for (int i = 0; i < TIMES; i++) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> run()).withCause(error);
		}
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
		assertThat(this.breaker.getMetrics().getNumberOfFailedCalls()).isZero();
	}

	static Stream<RuntimeException> outages() {
		return Stream.of(new DataAccessResourceFailureException("x"), new QueryTimeoutException("x"),
				new UncheckedIOException(new IOException("x")), new IllegalStateException(new TimeoutException("x")),
				new IllegalStateException(new SQLTransientConnectionException("x")),
				new IllegalStateException(new SQLException("x", "25006")),
				// The disk is full.
				new IllegalStateException(new SQLException("x", "53100")));
	}

	@ParameterizedTest
	@MethodSource("outages")
	@Tag("promise-11")
	void connectionErrorOfAStoreIsAnOutage(RuntimeException error) {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw error;
		});
		for (int i = 0; i < TIMES; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run());
		}
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.OPEN);
	}

	static Stream<Arguments> refusals() {
		SQLException data = new SQLException("payload", "23505");
		SQLException unnamed = new SQLException("no such function");
		SQLException chained = new SQLException("payload");
		chained.initCause(new SQLException("permission denied", "42501"));
		return Stream.of(
				Arguments.of(new IdempotencyStoreRefusedException("Full", null), null, "Remove the cause: Full", null),
				Arguments.of(new IdempotencyStoreRefusedException("Full", "OOM", new IOException("payload")), "OOM",
						"Remove the cause: Full", null),
				Arguments.of(new IdempotencyStoreRefusedException("Full", null, data), "23505",
						"Remove the cause: Full", null),
				Arguments.of(new IllegalStateException(data), "23505", IllegalStateException.class.getName(), null),
				Arguments.of(new IllegalStateException(unnamed), null, null, "no such function"),
				Arguments.of(new IllegalStateException(chained), "42501", null, "permission denied"),
				Arguments.of(new IllegalStateException("broken"), null, null, "broken"));
	}

	@ParameterizedTest
	@MethodSource("refusals")
	void logOfARefusalShowsItsCauseUnlessItMayQuoteData(RuntimeException error, String code, String end, String shown) {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw error;
		});
		try (Logs logs = Logs.ofThisThread()) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> run())
				.satisfies((refusal) -> assertThat(refusal.code()).isEqualTo(code))
				.withMessageContaining("refused a claim");
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.doesNotContain("payload")
				.endsWith((end != null) ? end : "")
				.contains((shown != null) ? shown : "");
		}
	}

	@Test
	void eachKindOfRefusalIsLoggedOnce() {
		List<RuntimeException> errors = List.of(new IllegalStateException("x"), new IllegalArgumentException("x"),
				new IdempotencyStoreRefusedException("Full", "OOM", null),
				new IdempotencyStoreRefusedException("Full", "MISCONF", null));
		try (Logs logs = Logs.ofThisThread()) {
			for (int i = 0; i < TIMES; i++) {
				RuntimeException error = errors.get(i % errors.size());
				this.store.before(StoreCall.CLAIM, (claim) -> {
					throw error;
				});
				assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> run());
			}
			assertThat(logs.messages("WARN")).hasSize(errors.size());
		}
		assertThat(this.listener.storeErrors()).hasSize(TIMES)
			.hasOnlyElementsOfType(IdempotencyStoreRefusedException.class);
	}

	static Stream<Arguments> codesOfOutages() {
		return Stream.of(Arguments.of(new IllegalStateException(new SQLException("x", "08006")), "08006"),
				Arguments.of(new IllegalStateException(new SQLException("x", "57P01")), "57P01"),
				Arguments.of(new IdempotencyStoreUnavailableException("x", "CLUSTERDOWN", null), "CLUSTERDOWN"),
				Arguments.of(new IdempotencyStoreUnavailableException("x", new SQLException("x", "53300")), "53300"),
				Arguments.of(new UncheckedIOException(new IOException("x")), null));
	}

	@ParameterizedTest
	@MethodSource("codesOfOutages")
	@Tag("promise-11")
	void outageHasTheCodeOfItsCause(RuntimeException error, String code) {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw error;
		});
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run())
			.satisfies((outage) -> assertThat(outage.code()).isEqualTo(code));
	}

	@Test
	void textOfAnErrorAboutDataIsNotLogged() {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw new IdempotencyStoreRefusedException("The database refused the statement (SQL state 22001)", "22001",
					new SQLException("Value 'payload' is too long", "22001"));
		});
		try (Logs logs = Logs.ofThisThread()) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> run());
			assertThat(logs.messages("WARN")).singleElement().asString().contains("22001").doesNotContain("payload");
		}
	}

}
