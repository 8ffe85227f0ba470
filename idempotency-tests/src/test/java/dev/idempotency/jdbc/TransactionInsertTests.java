/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for inserts of {@link JdbcIdempotencyStore} in a transaction.
 */
@Tag("promise-5")
class TransactionInsertTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static TransactionTemplate transactions;

	private static JdbcTemplate inside;

	private final IdempotencyKey key = TestDatabase.newKey();

	@BeforeAll
	static void createDatabase() {
		transactions = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
		inside = new JdbcTemplate(database.pool());
	}

	private Optional<Claim.Acquired> insert() {
		return one(database.store()).insert(TestDatabase.request(this.key));
	}

	@Test
	void insertWithoutTransactionIsRefused() {
		assertThatIllegalStateException().isThrownBy(this::insert)
			.withMessageContaining("idempotency.jdbc.transaction-manager");
	}

	@Test
	@Tag("promise-2")
	void insertWaitsHalfTheTimeoutForAConcurrentInsert() {
		Duration timeout = Duration.ofSeconds(6);
		whileInserted(() -> {
			long start = System.nanoTime();
			assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> insertWaiting(timeout))
				.withMessageContaining("57014");
			Duration waited = Duration.ofNanos(System.nanoTime() - start);
			assertThat(waited).isBetween(timeout.dividedBy(2), timeout);
		});
	}

	@Test
	@Tag("promise-2")
	void waitingInsertAcquiresNothingWhenTheOtherTransactionCommits() {
		CompletableFuture<Optional<Claim.Acquired>> second = transactions.execute((status) -> {
			insert();
			return insertElsewhere();
		});
		assertThat(second).succeedsWithin(PATIENCE).isEqualTo(Optional.empty());
	}

	@Test
	void waitingInsertAcquiresWhenTheOtherTransactionRollsBack() {
		CompletableFuture<Optional<Claim.Acquired>> second = transactions.execute((status) -> {
			insert();
			status.setRollbackOnly();
			return insertElsewhere();
		});
		assertThat(second).succeedsWithin(PATIENCE).isEqualTo(Optional.of(new Claim.Acquired(1, 1)));
	}

	@Test
	@Tag("promise-13")
	void lockTimeoutOfTheApplicationAppliesAfterAnInsert() {
		assertThat(transactions.<String>execute((status) -> {
			inside.execute("SET LOCAL lock_timeout = '7s'");
			insert();
			return inside.queryForObject("SHOW lock_timeout", String.class);
		})).isEqualTo("7s");
	}

	private void whileInserted(Runnable action) {
		transactions.executeWithoutResult((status) -> {
			insert();
			CompletableFuture.runAsync(action).orTimeout(PATIENCE.toSeconds(), TimeUnit.SECONDS).join();
		});
	}

	private Optional<Claim.Acquired> insertWaiting(Duration timeout) {
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(database.pool(), TestDatabase.TABLE, timeout);
		return transactions.execute((status) -> one(store).insert(TestDatabase.request(this.key)));
	}

	// The timeout is so long that the wait does not end before the transaction.
	private CompletableFuture<Optional<Claim.Acquired>> insertElsewhere() {
		CompletableFuture<Optional<Claim.Acquired>> other = CompletableFuture
			.supplyAsync(() -> insertWaiting(PATIENCE));
		await().atMost(PATIENCE).pollInterval(Duration.ofMillis(5)).until(this::sessionWaits);
		return other;
	}

	private boolean sessionWaits() {
		return database.jdbc()
			.queryForObject("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
					+ "AND wait_event_type = 'Lock'", Long.class) > 0;
	}

}
