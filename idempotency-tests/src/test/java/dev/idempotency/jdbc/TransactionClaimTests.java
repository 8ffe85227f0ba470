/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for claims of {@link JdbcIdempotencyStore} in a transaction.
 */
@Tag("promise-5")
class TransactionClaimTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static JdbcIdempotencyStore store;

	private static TransactionTemplate transactions;

	private static JdbcTemplate inside;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest request = TestDatabase.request(this.key);

	@BeforeAll
	static void createDatabase() {
		store = database.store();
		transactions = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
		inside = new JdbcTemplate(database.pool());
	}

	private Claim claim(boolean joined) {
		return store.claimInTransaction(List.of(TestDatabase.request(this.key)), joined).get(0);
	}

	@Test
	@Tag("promise-13")
	void joinedTransactionCommitsAfterALockTimeout() {
		IdempotencyKey other = TestDatabase.newKey();
		whileInserted(() -> transactions.executeWithoutResult((status) -> {
			assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> claim(true));
			store.claimInTransaction(List.of(TestDatabase.request(other)), true).get(0);
		}));
		assertThat(one(store).find(other)).isPresent();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-13")
	void joinedTransactionRestoresItsLockTimeout(boolean duplicate) {
		if (duplicate) {
			transactions.execute((status) -> one(store).insert(this.request));
		}
		assertThat(transactions.<String>execute((status) -> {
			inside.execute("SET LOCAL lock_timeout = '7s'");
			claim(true);
			return inside.queryForObject("SHOW lock_timeout", String.class);
		})).isEqualTo("7s");
	}

	@Test
	@Tag("promise-13")
	void joinedTransactionRestoresItsLockTimeoutAfterALockTimeout() {
		whileInserted(() -> assertThat(transactions.<String>execute((status) -> {
			inside.execute("SET LOCAL lock_timeout = '7s'");
			assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> claim(true));
			return inside.queryForObject("SHOW lock_timeout", String.class);
		})).isEqualTo("7s"));
	}

	private void whileInserted(Runnable action) {
		transactions.executeWithoutResult((status) -> {
			one(store).insert(TestDatabase.request(this.key));
			CompletableFuture.runAsync(action).orTimeout(5, TimeUnit.SECONDS).join();
		});
	}

}
