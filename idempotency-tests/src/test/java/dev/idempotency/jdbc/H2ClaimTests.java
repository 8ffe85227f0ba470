/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the clock, the locks and the cleanup of {@link JdbcIdempotencyStore} on H2.
 */
@ParameterizedClass
@ValueSource(strings = { "", ";MODE=PostgreSQL" })
class H2ClaimTests {

	@Parameter
	private String settings;

	private TestDatabase database;

	private TransactionTemplate transactions;

	private JdbcTemplate jdbc;

	private final IdempotencyKey key = TestDatabase.newKey();

	@BeforeEach
	void createDatabase() {
		this.database = TestDatabase.h2("mem:" + Servers.unique("h2") + ";DB_CLOSE_DELAY=-1" + this.settings);
		this.jdbc = new JdbcTemplate(this.database.pool());
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(this.database.pool()));
	}

	@AfterEach
	void closeDatabase() {
		// H2 drops the database with its last connection.
		this.database.jdbc().execute("SET DB_CLOSE_DELAY 0");
		this.database.close();
	}

	@Test
	void poolWithoutAutoCommitStoresTheClaim() {
		HikariConfig config = new HikariConfig();
		this.database.pool().copyStateTo(config);
		config.setAutoCommit(false);
		ClaimRequest request = TestDatabase.request(this.key);
		try (HikariDataSource pool = new HikariDataSource(config)) {
			assertThat(one(new JdbcIdempotencyStore(pool, TestDatabase.TABLE, TestDatabase.TIMEOUT)).claim(request))
				.isEqualTo(new Claim.Acquired(1, 1));
		}
		assertThat(one(this.database.store()).complete(request, null)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	@Tag("promise-2")
	void settlementWaitsForALockForTheTimeoutAtMost() {
		ClaimRequest request = TestDatabase.request(this.key);
		one(this.database.store()).claim(request);
		this.transactions.executeWithoutResult((status) -> {
			this.jdbc.update("UPDATE " + TestDatabase.TABLE + " SET fence = fence WHERE id = ?", this.key.id());
			CompletableFuture
				.runAsync(() -> assertThatExceptionOfType(OperationInProgressException.class)
					.isThrownBy(() -> one(this.database.store()).complete(request, null)))
				.orTimeout(5, TimeUnit.SECONDS)
				.join();
		});
		assertThat(one(this.database.store()).complete(request, null)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	@Tag("promise-7")
	void leaseThatExpiresDuringALongTransactionIsTakenOver() {
		one(this.database.store()).claim(TestDatabase.request(this.key, Duration.ofMillis(300)));
		this.transactions.executeWithoutResult((status) -> {
			this.jdbc.queryForObject("SELECT CURRENT_TIMESTAMP", Object.class);
			await().pollInSameThread()
				.until(() -> this.database.store()
					.claimInTransaction(List.of(TestDatabase.request(this.key)), true)
					.get(0), new Claim.Acquired(2, 2)::equals);
		});
	}

	@Test
	@Tag("promise-9")
	void claimWithOtherContentIsAMismatch() {
		one(this.database.store()).claim(TestDatabase.request(this.key, "a"));
		assertThat(one(this.database.store()).claim(TestDatabase.request(this.key, "b")))
			.isEqualTo(new Claim.Mismatch());
	}

	@Test
	void expiredRecordsAreDeletedWithoutWaitingForLockedRecords() {
		IdempotencyKey inUse = TestDatabase.newKey();
		IdempotencyKey live = TestDatabase.newKey();
		List.of(inUse, live, TestDatabase.newKey(), TestDatabase.newKey()).forEach((expired) -> {
			ClaimRequest request = TestDatabase.request(expired);
			one(this.database.store()).claim(request);
			if (!expired.equals(live)) {
				one(this.database.store()).complete(request, null);
			}
			this.database.endRetention(expired);
		});
		this.transactions.executeWithoutResult((status) -> {
			this.database.store().claimInTransaction(List.of(TestDatabase.request(inUse)), false).get(0);
			assertThat(this.database.store().deleteExpired(1, Duration.ZERO)).isOne();
			assertThat(this.database.store().deleteExpired(10, Duration.ZERO)).isOne();
		});
		assertThat(one(this.database.store()).find(live)).isPresent();
	}

	@Test
	void backlogAgeIsThatOfTheOldestExpiredRecord() {
		assertThat(this.database.store().backlogAge()).isZero();
		ClaimRequest request = TestDatabase.request(this.key);
		one(this.database.store()).claim(request);
		one(this.database.store()).complete(request, null);
		this.database.jdbc()
			.update("UPDATE idempotency_record SET expires_at = DATEADD(SECOND, -90, CURRENT_TIMESTAMP)");
		assertThat(this.database.store().backlogAge()).isBetween(Duration.ofSeconds(90), Duration.ofSeconds(100));
		assertThat(this.database.store().deleteExpired(10, Duration.ZERO)).isOne();
		assertThat(this.database.store().backlogAge()).isZero();
	}

}
