/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.dao.DataAccessResourceFailureException;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.template.CompletionCache;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationSpec;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link IdempotencyStoreHealthIndicator}.
 */
@Tag("promise-11")
class IdempotencyStoreHealthIndicatorTests {

	private static TestDatabase database;

	private static TestDatabase gone;

	@BeforeAll
	static void createDatabases() {
		database = TestDatabase.create();
		gone = TestDatabase.create();
		gone.drop();
	}

	@AfterAll
	static void closeDatabases() {
		database.close();
		gone.close();
	}

	@Test
	void storeThatAnswersIsUp() {
		Health health = new IdempotencyStoreHealthIndicator(() -> Map.of("jdbc", database.store())).health();
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(health.getDetails()).isEqualTo(Map.of("store", "jdbc", "circuit", StoreCircuit.State.CLOSED));
	}

	@Test
	void storeWithoutItsDatabaseIsDown() {
		Health health = new IdempotencyStoreHealthIndicator(() -> Map.of("jdbc", gone.store())).health();
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("store", "jdbc").containsKey("error");
	}

	@Test
	@Tag("promise-14")
	void openCircuitIsDownWithItsReasonAlthoughAPingWouldSucceed() {
		UnreliableStore store = new UnreliableStore(database.store());
		IdempotencyStoreHealthIndicator indicator = new IdempotencyStoreHealthIndicator(
				() -> Map.of(store.name(), store));
		CircuitBreaker breaker = CircuitBreaker.of("store",
				CircuitBreakerConfig.custom().slidingWindowSize(5).minimumNumberOfCalls(5).build());
		IdempotencyTemplate template = new IdempotencyTemplate(store,
				new Settings(null, null, false, new Resilience4jStoreCircuit(breaker), CompletionCache.NONE,
						new Observers(List.of(indicator), List.of(indicator)), List.of(),
						IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null,
						OperationSpec.Defaults.STANDARD));
		store.before(StoreCall.CLAIM, (claim) -> {
			throw new DataAccessResourceFailureException("payload", new SQLException("payload", "57P01"));
		});
		for (int i = 0; i < 5; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run(template));
		}
		store.ping();
		Health health = indicator.health();
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(health.getDetails()).containsEntry("store", "unreliable")
			.containsEntry("circuit", StoreCircuit.State.OPEN)
			.containsEntry("error", SQLException.class.getName())
			.containsEntry("code", "57P01");
		assertThat((Instant) health.getDetails().get("since")).isBetween(Instant.now().minusSeconds(10), Instant.now());
		assertThat(health.toString()).doesNotContain("payload");
		store.recover();
		breaker.transitionToHalfOpenState();
		for (int i = 0; i < breaker.getCircuitBreakerConfig().getPermittedNumberOfCallsInHalfOpenState(); i++) {
			run(template);
		}
		assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
		assertThat(indicator.health().getDetails())
			.isEqualTo(Map.of("store", "unreliable", "circuit", StoreCircuit.State.CLOSED));
		template.close();
	}

	// An instance that is not ready, or whose partitions have moved, receives no records.
	@Test
	@Tag("promise-14")
	void openCircuitWithoutCallsIsUpWhenTheStoreAnswers() {
		UnreliableStore store = new UnreliableStore(database.store());
		IdempotencyStoreHealthIndicator indicator = new IdempotencyStoreHealthIndicator(
				() -> Map.of(store.name(), store), Duration.ofMillis(200));
		CircuitBreaker breaker = CircuitBreaker.of("store",
				CircuitBreakerConfig.custom().slidingWindowSize(5).minimumNumberOfCalls(5).build());
		IdempotencyTemplate template = new IdempotencyTemplate(store,
				new Settings(null, null, false, new Resilience4jStoreCircuit(breaker), CompletionCache.NONE,
						new Observers(List.of(indicator), List.of(indicator)), List.of(),
						IdempotencyTemplate.Settings.DEFAULT_MAXIMUM_RESULT_SIZE, null,
						OperationSpec.Defaults.STANDARD));
		store.fail(StoreCall.CLAIM);
		store.failPing(true);
		for (int i = 0; i < 6; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run(template));
		}
		template.close();
		assertThat(breaker.getState()).isEqualTo(CircuitBreaker.State.OPEN);
		await().pollDelay(Duration.ofMillis(250)).until(() -> true);
		assertThat(indicator.health().getStatus()).isEqualTo(Status.DOWN);
		store.failPing(false);
		assertThat(indicator.health().getStatus()).isEqualTo(Status.UP);
		assertThat(indicator.health().getDetails()).containsEntry("circuit", StoreCircuit.State.OPEN);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run(template));
		assertThat(indicator.health().getStatus()).isEqualTo(Status.DOWN);
	}

	private static void run(IdempotencyTemplate template) {
		template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), ResultCodec.none(), () -> null);
	}

	@Test
	void storeWithoutItsTableIsDown() {
		try (TestDatabase empty = TestDatabase.create()) {
			empty.jdbc().execute("DROP TABLE " + TestDatabase.TABLE);
			assertThat(new IdempotencyStoreHealthIndicator(() -> Map.of("jdbc", empty.store())).health().getStatus())
				.isEqualTo(Status.DOWN);
		}
	}

}
