/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.IntStream;

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
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that a key has one owner while one partition after the other is opened: for
 * single claims, claims in transactions and batches, with rollbacks.
 */
@Tag("promise-2")
@Tag("promise-5")
class PartitionBoundaryTests {

	private static final int THREADS = 12;

	private static final int KEYS = 6;

	private static final int BOUNDARIES = 20;

	private static final int MAX_PAUSE = 8_000_000;

	private static final int LONG_PAUSE = 60_000_000;

	@RegisterExtension
	static TestDatabase database = TestDatabase.partitioned();

	private static JdbcIdempotencyStore store;

	private static TransactionTemplate transactions;

	private static JdbcTemplate inside;

	private final AtomicReferenceArray<IdempotencyKey> keys = new AtomicReferenceArray<>(KEYS);

	private volatile boolean done;

	@BeforeAll
	static void createDatabase() {
		store = database.store();
		transactions = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
		inside = new JdbcTemplate(database.pool());
		inside.execute("CREATE TABLE effect (id uuid NOT NULL)");
	}

	@Test
	void keyHasOneOwnerAndOneRecordAcrossAllPartitions() throws Exception {
		IntStream.range(0, KEYS).forEach((i) -> this.keys.set(i, TestDatabase.newKey()));
		ExecutorService executor = Executors.newFixedThreadPool(THREADS);
		List<Future<?>> workers = IntStream.range(0, THREADS)
			.<Future<?>>mapToObj((i) -> executor.submit(() -> work(i)))
			.toList();
		for (int i = 0; i < BOUNDARIES; i++) {
			database.nextPartition();
			LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(60));
		}
		this.done = true;
		for (Future<?> worker : workers) {
			worker.get(10, TimeUnit.SECONDS);
		}
		executor.shutdown();
		assertThat(count("SELECT count(DISTINCT id) FROM effect")).isGreaterThan(BOUNDARIES * 5);
		assertThat(count("SELECT count(DISTINCT period) FROM idempotency_record")).isGreaterThan(BOUNDARIES / 2);
		assertThat(count("SELECT count(*) FROM (SELECT id FROM effect GROUP BY id HAVING count(*) > 1) t"))
			.as("Keys with two owners")
			.isZero();
		assertThat(count("SELECT count(*) FROM (SELECT id FROM idempotency_record GROUP BY id HAVING count(*) > 1) t"))
			.as("Keys with two records")
			.isZero();
	}

	private static long count(String query) {
		return database.jdbc().queryForObject(query, Long.class);
	}

	private void work(int seed) {
		Random random = new Random(seed);
		while (!this.done) {
			int index = random.nextInt(KEYS);
			try {
				switch (random.nextInt(4)) {
					case 0 -> leased(this.keys.get(index), random);
					case 1 -> batch(random);
					case 2 -> transaction(this.keys.get(index), random, false);
					default -> transaction(this.keys.get(index), random, true);
				}
			}
			catch (OperationInProgressException ex) {
				// Another consumer has the key.
			}
		}
	}

	private void leased(IdempotencyKey key, Random random) {
		ClaimRequest request = TestDatabase.request(key);
		if (one(store).claim(request) instanceof Claim.Acquired) {
			pause(random);
			if (random.nextBoolean()) {
				one(store).release(request);
			}
			else {
				effect(key);
				one(store).complete(request, null);
				forget(key);
			}
		}
	}

	private void transaction(IdempotencyKey key, Random random, boolean insert) {
		ClaimRequest request = TestDatabase.request(key);
		transactions.executeWithoutResult((status) -> {
			boolean acquired = insert ? one(store).insert(request).isPresent()
					: store.claimInTransaction(List.of(request), false).get(0) instanceof Claim.Acquired;
			if (acquired) {
				effect(key);
				pause(random);
			}
			if (random.nextInt(4) == 0) {
				status.setRollbackOnly();
			}
		});
		forget(key);
	}

	private void batch(Random random) {
		List<ClaimRequest> requests = IntStream.range(0, KEYS)
			.filter((i) -> random.nextBoolean())
			.mapToObj((i) -> TestDatabase.request(this.keys.get(i)))
			.toList();
		List<IdempotencyKey> acquired = new ArrayList<>();
		transactions.executeWithoutResult((status) -> {
			List<Claim> claims = store.claimInTransaction(requests, false);
			for (int i = 0; i < claims.size(); i++) {
				if (claims.get(i) instanceof Claim.Acquired) {
					effect(requests.get(i).key());
					acquired.add(requests.get(i).key());
				}
			}
			pause(random);
			if (random.nextInt(4) == 0) {
				status.setRollbackOnly();
			}
		});
		acquired.forEach(this::forget);
	}

	private static void effect(IdempotencyKey key) {
		inside.update("INSERT INTO effect VALUES (?)", key.id());
	}

	// Some consumers claim a key again after it has been replaced.
	private void forget(IdempotencyKey key) {
		for (int i = 0; i < KEYS; i++) {
			if (this.keys.get(i).equals(key)) {
				this.keys.compareAndSet(i, this.keys.get(i), TestDatabase.newKey());
			}
		}
	}

	// Some transactions are open longer than a partition change takes.
	private static void pause(Random random) {
		LockSupport.parkNanos(random.nextInt((random.nextInt(8) == 0) ? LONG_PAUSE : MAX_PAUSE));
	}

}
