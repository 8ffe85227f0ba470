/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.cleanup;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.template.Observers;
import dev.idempotency.template.StoreObserver;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link CleanupJob}.
 */
class CleanupJobTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final List<String> events = new CopyOnWriteArrayList<>();

	private final List<Duration> runs = new CopyOnWriteArrayList<>();

	private final List<Duration> backlogs = new CopyOnWriteArrayList<>();

	private final List<Integer> batches = new CopyOnWriteArrayList<>();

	private final Queue<String> threads = new ConcurrentLinkedQueue<>();

	private final Queue<Throwable> errors = new ConcurrentLinkedQueue<>();

	private final CleanupJob job = job(Duration.ofHours(1));

	@BeforeEach
	void clear() {
		database.jdbc().execute("TRUNCATE " + TestDatabase.TABLE);
	}

	@AfterEach
	void stop() {
		this.job.stop();
	}

	private CleanupJob job(Duration interval) {
		return job(new CleanupJob.Settings(interval, Duration.ofMinutes(1), 10, Duration.ZERO));
	}

	private CleanupJob job(CleanupJob.Settings settings) {
		StoreObserver observer = new StoreObserver() {

			@Override
			public void cleanedUp(String table, int deleted) {
				CleanupJobTests.this.events.add(table + " " + deleted);
			}

			@Override
			public void cleanupEnded(String table, Duration duration, Duration backlogAge) {
				CleanupJobTests.this.runs.add(duration);
				CleanupJobTests.this.backlogs.add(backlogAge);
			}

		};
		return new CleanupJob(new CountedBatches(), settings, new Observers(List.of(), List.of(observer)));
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
	void expiredRecordsAreDeleted() {
		IdempotencyKey key = expired(1).get(0);
		assertThat(this.job.runOnce()).isOne();
		assertThat(one(database.store()).find(key)).isEmpty();
	}

	@Test
	void batchesAreDeletedUntilOneIsNotFull() {
		expired(25);
		assertThat(this.job.runOnce()).isEqualTo(25);
		assertThat(this.batches).containsExactly(10, 10, 5);
	}

	@Test
	void listenerIsNotifiedOfTheDeletedRecordsOfARun() {
		expired(12);
		this.job.runOnce();
		assertThat(this.events).containsExactly("idempotency_record 12");
	}

	@Test
	void listenerIsNotNotifiedWhenNoRecordWasDeleted() {
		this.job.runOnce();
		assertThat(this.events).isEmpty();
	}

	@Test
	void startedJobRunsPeriodically() {
		CleanupJob frequent = job(Duration.ofMillis(50));
		frequent.start();
		try {
			expired(1);
			await().until(() -> !this.events.isEmpty());
			expired(1);
			await().until(() -> this.events.size() > 1);
		}
		finally {
			frequent.stop();
		}
	}

	@Test
	void threadHasTheNameOfTheTable() {
		CleanupJob frequent = job(Duration.ofMillis(50));
		frequent.start();
		try {
			await().untilAsserted(() -> assertThat(this.threads).contains("idempotency-cleanup-idempotency_record-1"));
		}
		finally {
			frequent.stop();
		}
	}

	@Test
	void logMessageNamesTheTable() {
		expired(2);
		try (Logs logs = Logs.ofThisThread()) {
			this.job.runOnce();
			assertThat(logs.messages("INFO")).singleElement()
				.asString()
				.startsWith("Deleted 2 expired rows from idempotency_record in ");
		}
	}

	@Test
	void stoppedJobDeletesNothing() {
		expired(1);
		this.job.start();
		this.job.stop();
		assertThat(this.job.isRunning()).isFalse();
		assertThat(this.job.runOnce()).isZero();
	}

	@Test
	void runEndsWhenItsTimeBudgetIsSpent() {
		expired(20);
		CleanupJob hurried = job(
				new CleanupJob.Settings(Duration.ofHours(1), Duration.ofMillis(50), 1, Duration.ofMillis(20)));
		assertThat(hurried.runOnce()).isBetween(1, 3);
		assertThat(this.backlogs).singleElement().satisfies((age) -> assertThat(age).isPositive());
		assertThat(this.job.runOnce()).isGreaterThanOrEqualTo(17);
		assertThat(this.backlogs).hasSize(2).last().isEqualTo(Duration.ZERO);
	}

	@Test
	void jobPausesBeforeEachBatch() {
		expired(25);
		job(new CleanupJob.Settings(Duration.ofHours(1), Duration.ofMinutes(1), 10, Duration.ofMillis(40))).runOnce();
		assertThat(this.batches).containsExactly(10, 10, 5);
		assertThat(this.runs).singleElement()
			.satisfies((duration) -> assertThat(duration).isGreaterThanOrEqualTo(Duration.ofMillis(120)));
	}

	@Test
	void listenerIsNotifiedOfEachRun() {
		this.job.runOnce();
		assertThat(this.runs).hasSize(1);
		assertThat(this.backlogs).containsExactly(Duration.ZERO);
	}

	@Test
	void failedRunReportsItsBacklog() {
		expired(1);
		this.errors.add(new IllegalStateException("not now"));
		assertThatIllegalStateException().isThrownBy(this.job::runOnce);
		assertThat(this.backlogs).singleElement().satisfies((age) -> assertThat(age).isPositive());
	}

	@Test
	@Tag("promise-14")
	void batchThatConflictsWithAConcurrentTransactionIsRepeated() {
		expired(1);
		OperationInProgressException contention = new OperationInProgressException("40001", Duration.ofSeconds(1));
		this.errors.addAll(List.of(contention, contention));
		assertThat(this.job.runOnce()).isOne();
	}

	@Test
	void errorsDoNotEndTheSchedule() {
		expired(1);
		this.errors.addAll(List.of(new IllegalStateException("not now"), new NoClassDefFoundError("not now")));
		CleanupJob frequent = job(Duration.ofMillis(20));
		frequent.start();
		try {
			await().until(() -> !this.events.isEmpty());
			assertThat(this.errors).isEmpty();
		}
		finally {
			frequent.stop();
		}
	}

	@Test
	void jobStopsWhilePausing() {
		expired(1);
		CleanupJob slow = job(
				new CleanupJob.Settings(Duration.ofMillis(1), Duration.ofHours(1), 10, Duration.ofMinutes(1)));
		slow.start();
		await().until(() -> database.pool().getHikariPoolMXBean().getActiveConnections() > 0);
		slow.stop();
		assertThat(database.pool().getHikariPoolMXBean().getActiveConnections()).isZero();
		assertThat(this.events).isEmpty();
		assertThat(this.job.runOnce()).isOne();
	}

	@Test
	void intervalsVaryRandomly() {
		CleanupJob.Settings settings = new CleanupJob.Settings(Duration.ofMinutes(10), Duration.ofMinutes(1), 10,
				Duration.ZERO);
		// Two of a hundred may be equal by chance.
		assertThat(Stream.generate(settings::firstDelay).limit(100).distinct()).hasSizeGreaterThan(90)
			.allMatch((delay) -> delay.compareTo(Duration.ofMinutes(10)) <= 0);
		assertThat(Stream.generate(settings::nextDelay).limit(100).distinct()).hasSizeGreaterThan(90)
			.allMatch((delay) -> delay.compareTo(Duration.ofMinutes(8)) >= 0
					&& delay.compareTo(Duration.ofMinutes(12)) <= 0);
	}

	@Test
	void twoJobsPauseAsOftenAsOne() {
		expired(40);
		CleanupJob.Settings settings = new CleanupJob.Settings(Duration.ofHours(1), Duration.ofMinutes(1), 1,
				Duration.ofMillis(10));
		long start = System.nanoTime();
		List<CompletableFuture<Integer>> jobs = Stream.of(job(settings), job(settings))
			.map((one) -> CompletableFuture.supplyAsync(one::runOnce))
			.toList();
		assertThat(jobs.stream().mapToInt(CompletableFuture::join).sum()).isEqualTo(40);
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(400));
	}

	private final class CountedBatches implements ExpiredRecords {

		@Override
		public String table() {
			return database.store().table();
		}

		@Override
		public int deleteExpired(int limit, Duration pause) {
			Throwable error = CleanupJobTests.this.errors.poll();
			if (error instanceof Error fatal) {
				throw fatal;
			}
			if (error != null) {
				throw (RuntimeException) error;
			}
			CleanupJobTests.this.threads.add(Thread.currentThread().getName());
			int deleted = database.store().deleteExpired(limit, pause);
			CleanupJobTests.this.batches.add(deleted);
			return deleted;
		}

		@Override
		public Duration backlogAge() {
			return database.store().backlogAge();
		}

	}

}
