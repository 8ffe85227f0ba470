/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the deletion of expired records by {@link JdbcIdempotencyStore}.
 */
class ExpiredRecordsTests {

	private static final Duration PAUSE = Duration.ofSeconds(2);

	private static final String TURNS = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted "
			+ "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@BeforeEach
	void clear() {
		database.jdbc().execute("TRUNCATE " + TestDatabase.TABLE);
	}

	private static IdempotencyKey completed() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(database.store()).claim(request);
		one(database.store()).complete(request, null);
		return request.key();
	}

	private static List<IdempotencyKey> expired(int count) {
		List<IdempotencyKey> keys = new ArrayList<>();
		for (int i = 0; i < count; i++) {
			keys.add(completed());
			database.endRetention(keys.get(i));
		}
		return keys;
	}

	@Test
	void liveClaimsAreNotDeletedAfterTheirRetention() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(database.store()).claim(request);
		database.endRetention(request.key());
		assertThat(database.store().deleteExpired(100, Duration.ZERO)).isZero();
	}

	@Test
	void expiredClaimsAreDeletedAfterTheirRetention() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(database.store()).claim(request);
		database.endRetention(request.key());
		database.endLease(request.key());
		assertThat(database.store().deleteExpired(100, Duration.ZERO)).isOne();
	}

	@Test
	void lockedRecordsAreSkippedWithoutWaiting() {
		List<IdempotencyKey> keys = expired(2);
		inTransaction("SELECT 1 FROM idempotency_record WHERE id = '%s' FOR UPDATE".formatted(keys.get(0).id()),
				() -> assertThat(database.store().deleteExpired(100, Duration.ZERO)).isOne());
		assertThat(one(database.store()).find(keys.get(0))).isPresent();
	}

	@Test
	void secondProcessDeletesNothingDuringACleanup() {
		expired(1);
		inTransaction(
				"SELECT pg_advisory_xact_lock(hashtext('dev.idempotency.cleanup'), "
						+ "hashoid('idempotency_record'::regclass))",
				() -> assertThat(database.store().deleteExpired(100, Duration.ZERO)).isZero());
		assertThat(database.store().deleteExpired(100, Duration.ZERO)).isOne();
	}

	@Test
	void turnIsHeldDuringThePause() {
		expired(1);
		CompletableFuture<Integer> pausing = pausing(PAUSE);
		assertThat(database.store().deleteExpired(100, Duration.ZERO)).isZero();
		assertThat(pausing).isNotDone();
		assertThat(pausing.join()).isOne();
	}

	@Test
	void tableOfTheSameNameInAnotherSchemaHasItsOwnTurn() {
		database.jdbc().execute("CREATE SCHEMA other");
		try (HikariDataSource pool = Servers.pool(database.url() + "?currentSchema=other")) {
			String table = TestDatabase.TABLE;
			JdbcSchemaMigration.migrate(pool, table);
			JdbcIdempotencyStore other = new JdbcIdempotencyStore(pool, table, TestDatabase.TIMEOUT);
			ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
			one(other).claim(request);
			one(other).fail(request, new Failure("x", "y"));
			new JdbcTemplate(pool).update("UPDATE idempotency_record SET expires_at = now()");
			CompletableFuture<Integer> pausing = pausing(PAUSE);
			assertThat(other.deleteExpired(100, Duration.ZERO)).isOne();
			assertThat(pausing).isNotDone();
			pausing.join();
		}
		finally {
			database.jdbc().execute("DROP SCHEMA other CASCADE");
		}
	}

	// The idle timeout of the server may be shorter than the pause. The one that
	// replaces it ends the turn of a host that is gone.
	@Test
	void pauseOutlastsTheIdleTimeoutOfTheServer() {
		expired(1);
		try (HikariDataSource pool = Servers
			.pool(database.url() + "?options=-c%20idle_in_transaction_session_timeout=100")) {
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(pool, TestDatabase.TABLE, TestDatabase.TIMEOUT);
			assertThat(store.deleteExpired(100, Duration.ofMillis(400))).isOne();
		}
	}

	@Test
	@Tag("promise-2")
	void claimDoesNotWaitForThePause() {
		IdempotencyKey key = expired(1).get(0);
		CompletableFuture<Integer> pausing = pausing(PAUSE);
		assertThat(one(database.store()).claim(TestDatabase.request(key))).isInstanceOf(Claim.Acquired.class);
		assertThat(pausing).isNotDone();
		assertThat(pausing.join()).isZero();
		assertThat(one(database.store()).find(key)).isPresent();
	}

	private static CompletableFuture<Integer> pausing(Duration pause) {
		CompletableFuture<Integer> pausing = CompletableFuture
			.supplyAsync(() -> database.store().deleteExpired(100, pause));
		await().until(() -> database.jdbc().queryForObject(TURNS, Integer.class) == 1);
		return pausing;
	}

	@Test
	void batchContinuesAfterThePreviousOneAndRestartsAtTheEnd() {
		IdempotencyKey older = completed();
		expired(3);
		assertThat(database.store().deleteExpired(2, Duration.ZERO)).isEqualTo(2);
		database.jdbc()
			.update("UPDATE idempotency_record SET expires_at = now() - interval '1 hour' WHERE id = ?", older.id());
		assertThat(database.store().deleteExpired(2, Duration.ZERO)).isOne();
		assertThat(one(database.store()).find(older)).isPresent();
		assertThat(database.store().deleteExpired(2, Duration.ZERO)).isOne();
		assertThat(one(database.store()).find(older)).isEmpty();
	}

	@Test
	void backlogAgeIsThatOfTheOldestExpiredRecord() {
		assertThat(database.store().backlogAge()).isZero();
		completed();
		assertThat(database.store().backlogAge()).isZero();
		IdempotencyKey key = expired(2).get(1);
		database.jdbc()
			.update("UPDATE idempotency_record SET expires_at = now() - interval '90 s' WHERE id = ?", key.id());
		assertThat(database.store().backlogAge()).isBetween(Duration.ofSeconds(90), Duration.ofSeconds(100));
	}

	@Test
	void liveClaimsDoNotCountAsBacklog() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(database.store()).claim(request);
		database.endRetention(request.key());
		assertThat(database.store().backlogAge()).isZero();
	}

	@Test
	void connectionIsRestoredAfterACleanup() throws SQLException {
		expired(1);
		database.store().deleteExpired(1, Duration.ofMillis(1));
		try (Connection connection = database.pool().getConnection()) {
			assertThat(connection.getAutoCommit()).isTrue();
		}
		assertThat(database.jdbc().queryForObject(TURNS, Integer.class)).isZero();
	}

	@Test
	void deletionReadsOnlyExpiredIndexEntries() {
		database.jdbc()
			.execute("INSERT INTO idempotency_record (id, scope, key, state, fence, attempt, created_at, expires_at) "
					+ "SELECT gen_random_uuid(), 's', i::text, 'C', 1, 1, now(), now() + i * interval '1 min' "
					+ "FROM generate_series(-10, 20000) i");
		database.jdbc().execute("ANALYZE idempotency_record");
		long before = entriesRead();
		assertThat(database.store().deleteExpired(100, Duration.ZERO)).isEqualTo(11);
		// The statistics belong to the session that read them. The pool returns the
		// same one to each thread.
		await().pollInSameThread().atMost(Duration.ofSeconds(15)).until(() -> {
			new JdbcTemplate(database.pool()).execute("SELECT pg_stat_force_next_flush()");
			return entriesRead() > before;
		});
		assertThat(entriesRead() - before).isLessThan(1000);
	}

	private static long entriesRead() {
		return database.jdbc()
			.queryForObject("SELECT idx_tup_read FROM pg_stat_user_indexes "
					+ "WHERE indexrelname = 'idempotency_record_expires_at'", Long.class);
	}

	private static void inTransaction(String statement, Runnable action) {
		new TransactionTemplate(new JdbcTransactionManager(database.pool())).executeWithoutResult((status) -> {
			new JdbcTemplate(database.pool()).execute(statement);
			CompletableFuture.runAsync(action).orTimeout(5, TimeUnit.SECONDS).join();
		});
	}

}
