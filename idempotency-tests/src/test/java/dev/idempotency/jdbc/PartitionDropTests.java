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
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.Observers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for dropped partitions of a table with a column of the application, in a database
 * with a publication for all tables.
 */
class PartitionDropTests {

	private TestDatabase database;

	private JdbcIdempotencyStore store;

	private TransactionTemplate transactions;

	private PartitionMaintenance partitions;

	@BeforeEach
	void createDatabase() {
		this.database = TestDatabase.partitioned();
		this.database.jdbc().execute("ALTER TABLE idempotency_record ADD note text NOT NULL DEFAULT 'none'");
		this.database.jdbc().execute("CREATE PUBLICATION everything FOR ALL TABLES");
		this.store = this.database.store();
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(this.database.pool()));
		this.partitions = new PartitionMaintenance(new JdbcExecutor(this.database.pool(),
				new PostgresDialect(Layout.PARTITIONED), null, TestDatabase.TIMEOUT), TableName.of(TestDatabase.TABLE),
				TestDatabase.PARTITION_INTERVAL);
		// The single table of the first version.
		this.partitions.drop();
	}

	@AfterEach
	void closeDatabase() {
		this.database.close();
	}

	private IdempotencyKey completed() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(this.store).claim(request);
		one(this.store).complete(request, null);
		return request.key();
	}

	private void expire(IdempotencyKey key, String ago) {
		this.database.jdbc()
			.update("UPDATE idempotency_record SET expires_at = now() - ?::interval WHERE id = ?", ago, key.id());
	}

	private List<String> names() {
		return this.database.jdbc()
			.queryForList("SELECT inhrelid::regclass::text FROM pg_inherits "
					+ "WHERE inhparent = 'idempotency_record'::regclass ORDER BY 1", String.class);
	}

	@Test
	void partitionIsDroppedWhenAllItsRecordsHaveExpired() {
		IdempotencyKey dead = completed();
		IdempotencyKey alive = completed();
		expire(dead, "1 min");
		this.database.nextPartition();
		assertThat(this.partitions.drop()).isNull();
		expire(alive, "1 min");
		assertThat(this.partitions.drop()).isEqualTo("idempotency_record_p1");
		assertThat(one(this.store).find(dead)).isEmpty();
		assertThat(this.partitions.drop()).isNull();
	}

	@Test
	void currentPartitionIsNotDropped() {
		expire(completed(), "1 min");
		assertThat(this.partitions.drop()).isNull();
	}

	@Test
	@Tag("promise-2")
	void partitionThatAnOpenTransactionWritesToIsNotDropped() {
		this.transactions.executeWithoutResult((status) -> {
			one(this.store).insert(TestDatabase.request(TestDatabase.newKey()));
			this.database.openPartition();
			assertThat(this.partitions.rotate()).isEqualTo("created");
			assertThat(this.partitions.rotate()).isNull();
			assertThat(this.partitions.drop()).isNull();
		});
		assertThat(this.partitions.rotate()).isEqualTo("closed");
	}

	@Test
	@Tag("promise-2")
	void partitionWithALiveClaimIsNotDroppedAfterItsRetention() {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		one(this.store).claim(request);
		expire(request.key(), "1 min");
		one(this.store).renew(request);
		this.database.nextPartition();
		assertThat(this.partitions.drop()).isNull();
		expire(request.key(), "1 min");
		this.store.renew(List.of(request));
		assertThat(this.partitions.drop()).isNull();
	}

	@Test
	@Tag("promise-3")
	void recordThatIsTakenOverBetweenCheckAndDropIsKept() {
		IdempotencyKey key = completed();
		expire(key, "1 min");
		this.database.nextPartition();
		CompletableFuture<String> drop = this.transactions.execute((status) -> {
			assertThat(this.store.claimInTransaction(List.of(TestDatabase.request(key)), false).get(0))
				.isEqualTo(new Claim.Acquired(2, 1));
			CompletableFuture<String> waiting = CompletableFuture.supplyAsync(() -> patient().drop());
			await().pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(2)).until(this::sessionWaits);
			return waiting;
		});
		assertThat(drop).succeedsWithin(5, TimeUnit.SECONDS).isNull();
		assertThat(this.database.record(key).state()).isEqualTo(State.COMPLETED);
	}

	// Otherwise the wait might end before the transaction.
	private PartitionMaintenance patient() {
		String function = this.database.jdbc()
			.queryForObject("SELECT pg_get_functiondef('idempotency_record_drop_dead'::regproc)", String.class);
		this.database.jdbc().execute(function.replace("'50ms'", "'5s'"));
		return this.partitions;
	}

	private boolean sessionWaits() {
		return this.database.jdbc()
			.queryForObject("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
					+ "AND wait_event_type = 'Lock'", Long.class) > 0;
	}

	@Test
	void claimsDoNotWaitForADropThatIsBlocked() {
		expire(completed(), "1 min");
		this.database.nextPartition();
		Duration longest = this.transactions.execute((status) -> {
			one(this.store).insert(TestDatabase.request(TestDatabase.newKey()));
			CompletableFuture<Void> drops = CompletableFuture.runAsync(() -> {
				for (int i = 0; i < 5; i++) {
					assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this.partitions::drop)
						.withMessageContaining("55P03");
				}
			});
			Duration wait = Duration.ZERO;
			while (!drops.isDone()) {
				long start = System.nanoTime();
				CompletableFuture.runAsync(this::completed).join();
				Duration claim = Duration.ofNanos(System.nanoTime() - start);
				wait = (claim.compareTo(wait) > 0) ? claim : wait;
			}
			drops.join();
			return wait;
		});
		assertThat(longest).isLessThan(TestDatabase.TIMEOUT.multipliedBy(2));
		assertThat(this.partitions.drop()).isEqualTo("idempotency_record_p1");
	}

	@Test
	void timeOfADropDoesNotDependOnTheNumberOfRecords() {
		for (int rows : new int[] { 1_000, 1_000, 1_000, 200_000, 200_000 }) {
			fill(rows);
			this.database.nextPartition();
		}
		drop();
		Duration few = shorter(drop(), drop());
		// A busy machine may delay either of them.
		Duration many = shorter(drop(), drop());
		assertThat(many).as("Against %s for 1000 records", few).isLessThan(few.multipliedBy(10).plusMillis(100));
	}

	private static Duration shorter(Duration left, Duration right) {
		return (left.compareTo(right) < 0) ? left : right;
	}

	private void fill(int rows) {
		this.database.jdbc()
			.update("INSERT INTO idempotency_record (id, scope, key, state, fence, attempt, created_at, expires_at, period) "
					+ "SELECT gen_random_uuid(), 'scope', i::text, 'C', 1, 1, now(), now() - i * interval '1 ms', p.period "
					+ "FROM generate_series(1, ?) i, idempotency_record_period p", rows);
	}

	// Autovacuum may block the drop.
	private Duration drop() {
		for (int attempt = 0; attempt < 20; attempt++) {
			try {
				long start = System.nanoTime();
				assertThat(this.partitions.drop()).isNotNull();
				return Duration.ofNanos(System.nanoTime() - start);
			}
			catch (OperationInProgressException ex) {
				this.partitions.rotate();
			}
		}
		throw new AssertionError("The partition is always in use");
	}

	@Test
	void cleanupOpensTheNextPartitionAndDropsTheExpiredOne() {
		expire(completed(), "1 min");
		this.database.jdbc().update("UPDATE idempotency_record_period SET since = since - interval '25 hours'");
		this.store.maintain();
		completed();
		assertThat(names()).containsExactly("idempotency_record_p2", "idempotency_record_p3");
		assertThat(this.database.jdbc().queryForMap("SELECT period, closing FROM idempotency_record_period"))
			.containsEntry("period", 2)
			.containsEntry("closing", null);
		this.store.maintain();
		assertThat(names()).hasSize(2);
	}

	// The walk through the expired records never restarts.
	@Test
	@Tag("promise-15")
	void partitionsAreMaintainedWhenTheBacklogNeverEnds() {
		JdbcIdempotencyStore frequent = new JdbcIdempotencyStore(this.database.pool(), TestDatabase.TABLE,
				TestDatabase.TIMEOUT, Layout.PARTITIONED, Duration.ofMillis(10), null);
		CleanupJob job = new CleanupJob(frequent,
				new CleanupJob.Settings(Duration.ofMinutes(1), Duration.ofMillis(30), 1, Duration.ZERO),
				Observers.none());
		completed();
		fill(10_000);
		AtomicInteger deleted = new AtomicInteger();
		await().pollInterval(Duration.ofMillis(11)).until(() -> {
			deleted.addAndGet(job.runOnce());
			return names().contains("idempotency_record_p4") && !names().contains("idempotency_record_p2");
		});
		assertThat(names()).contains("idempotency_record_p1");
		assertThat(deleted).hasPositiveValue().hasValueLessThan(10_000);
	}

	@Test
	void expiredRecordsAreDeletedOneByOneWhenOtherRecordsKeepTheirPartition() {
		IdempotencyKey recent = completed();
		IdempotencyKey old = completed();
		IdempotencyKey alive = completed();
		this.database.nextPartition();
		expire(recent, "47 hours");
		expire(old, "49 hours");
		assertThat(this.store.deleteExpired(10, Duration.ZERO)).isOne();
		assertThat(one(this.store).find(old)).isEmpty();
		assertThat(one(this.store).find(recent)).isPresent();
		assertThat(one(this.store).find(alive)).isPresent();
	}

	@Test
	void secondProcessSkipsTheMaintenanceDuringTheFirst() {
		expire(completed(), "1 min");
		this.database.nextPartition();
		this.transactions.executeWithoutResult((status) -> {
			new JdbcTemplate(this.database.pool())
				.execute("SELECT pg_advisory_xact_lock(hashtext('dev.idempotency.partitions'), "
						+ "hashoid('idempotency_record'::regclass))");
			CompletableFuture.runAsync(this.partitions::maintain).orTimeout(5, TimeUnit.SECONDS).join();
			assertThat(names()).contains("idempotency_record_p1");
		});
		this.partitions.maintain();
		assertThat(names()).doesNotContain("idempotency_record_p1");
	}

}
