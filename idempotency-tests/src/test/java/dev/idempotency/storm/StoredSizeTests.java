/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Measures what a key takes in a store, for {@code docs/sizing.md}. The scope has 30
 * characters and the key 36.
 */
@Tag("storm")
@ResourceLock("storms")
@EnabledIfSystemProperty(named = "test.sizes", matches = "\\d+",
		disabledReason = "Run by the command in docs/sizing.md")
class StoredSizeTests {

	private static final int KEYS = Integer.getInteger("test.sizes", 0);

	private static final int BATCH = 500;

	private static final String SCOPE = "ledger-service/payments-topic1";

	@ParameterizedTest
	@CsvSource({ "true, 0, 1", "false, 0, 5", "true, 200, 5", "true, 1000, 5" })
	void memoryOfRedis(boolean fingerprint, int result, int divisor) {
		RedisProcess server = RedisProcess.create();
		try (TestRedis redis = TestRedis.create(server)) {
			long before = usedMemory(redis);
			int keys = KEYS / divisor;
			fill(redis.store(), keys, fingerprint, result);
			System.out.printf("Redis %s: %d keys, fingerprint %s, result %d: %d bytes a key%n", version(redis), keys,
					fingerprint, result, (usedMemory(redis) - before) / keys);
			assertThat(redis.commands().dbsize()).isEqualTo(keys);
		}
		finally {
			server.stop();
		}
	}

	private static long usedMemory(TestRedis redis) {
		return Long.parseLong(info(redis, "memory", "used_memory:"));
	}

	private static String version(TestRedis redis) {
		return info(redis, "server", "redis_version:");
	}

	private static String info(TestRedis redis, String section, String name) {
		return redis.commands()
			.info(section)
			.lines()
			.filter((line) -> line.startsWith(name))
			.map((line) -> line.substring(name.length()).strip())
			.findFirst()
			.orElseThrow();
	}

	@ParameterizedTest
	@CsvSource({ "transactional, true, 1", "transactional, false, 5", "leased, true, 5", "leased batches, true, 5" })
	void spaceOfPostgres(String listener, boolean fingerprint, int divisor) {
		try (TestDatabase database = TestDatabase.create()) {
			int keys = KEYS / divisor;
			fill(database, listener, keys, fingerprint);
			JdbcTemplate jdbc = database.jdbc();
			System.out.printf("PostgreSQL, %s: %d keys, fingerprint %s: %d bytes a key, %d of them in indexes%n",
					listener, keys, fingerprint, size(jdbc, "pg_total_relation_size") / keys,
					size(jdbc, "pg_indexes_size") / keys);
			long wal = wal(jdbc, () -> jdbc.update("DELETE FROM idempotency_record"));
			System.out.printf("PostgreSQL: %d bytes of WAL for a deleted key%n", wal / keys);
		}
	}

	private static void fill(TestDatabase database, String listener, int keys, boolean fingerprint) {
		TransactionalIdempotencyStore store = database.store();
		TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
		switch (listener) {
			case "transactional" -> {
				for (int i = 0; i < keys / BATCH; i++) {
					List<ClaimRequest> requests = requests(i, BATCH, fingerprint);
					transaction.executeWithoutResult((status) -> store.insert(requests));
				}
			}
			case "leased" -> requests(0, keys, fingerprint).forEach((request) -> {
				store.claim(List.of(request));
				store.settle(List.of(new Ending.Completed(request, null)));
			});
			default -> fill(store, keys, fingerprint, 0);
		}
	}

	private static long size(JdbcTemplate jdbc, String function) {
		Long size = jdbc.queryForObject("SELECT " + function + "('idempotency_record')", Long.class);
		return (size != null) ? size : 0;
	}

	@Test
	void writeAheadLogOfPostgres() {
		try (TestDatabase database = TestDatabase.create()) {
			TransactionalIdempotencyStore store = database.store();
			JdbcTemplate jdbc = database.jdbc();
			fill(store, 100_000, true, 0);
			List<ClaimRequest> leased = requests(0, 5_000, true);
			print("claim", wal(jdbc, each(leased, (request) -> store.claim(List.of(request)))));
			print("completion",
					wal(jdbc, each(leased, (request) -> store.settle(List.of(new Ending.Completed(request, null))))));
			List<ClaimRequest> inserted = requests(0, 5_000, true);
			TransactionTemplate transaction = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
			print("insert in a transaction, with its commit", wal(jdbc, each(inserted,
					(request) -> transaction.executeWithoutResult((status) -> store.insert(List.of(request))))));
		}
	}

	private static Runnable each(List<ClaimRequest> requests, Consumer<ClaimRequest> call) {
		return () -> requests.forEach(call);
	}

	private static void print(String call, long wal) {
		System.out.printf("PostgreSQL: %d bytes of WAL for a %s%n", wal / 5_000, call);
	}

	private static long wal(JdbcTemplate jdbc, Runnable work) {
		String before = jdbc.queryForObject("SELECT pg_current_wal_insert_lsn()::text", String.class);
		work.run();
		Long bytes = jdbc.queryForObject("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), ?::pg_lsn)::bigint",
				Long.class, before);
		return (bytes != null) ? bytes : 0;
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased batches" })
	void spaceOfMariaDb(String listener) {
		try (TestDatabase database = TestDatabase.mariaDb()) {
			int keys = KEYS / 5;
			fill(database, listener, keys, true);
			JdbcTemplate jdbc = database.jdbc();
			jdbc.execute("ANALYZE TABLE idempotency_record");
			System.out.printf("MariaDB, %s: %d keys: %s%n", listener, keys, jdbc.queryForMap("""
					SELECT data_length DIV ? AS row_bytes, index_length DIV ? AS index_bytes
					FROM information_schema.tables
					WHERE table_name = 'idempotency_record' AND table_schema = database()""", keys, keys));
		}
	}

	private static void fill(IdempotencyStore store, int keys, boolean fingerprint, int result) {
		byte @Nullable [] bytes = (result > 0) ? "x".repeat(result).getBytes(StandardCharsets.US_ASCII) : null;
		for (int i = 0; i < keys / BATCH; i++) {
			List<ClaimRequest> requests = requests(i, BATCH, fingerprint);
			store.claim(requests);
			store.settle(requests.stream().map((request) -> (Ending) new Ending.Completed(request, bytes)).toList());
		}
	}

	private static List<ClaimRequest> requests(int content, int count, boolean fingerprint) {
		byte @Nullable [] digest = fingerprint
				? Fingerprint.ofReported(1, String.valueOf(content).getBytes(StandardCharsets.US_ASCII)) : null;
		return IntStream.range(0, count)
			.mapToObj((i) -> new ClaimRequest(IdempotencyKey.of(SCOPE, UUID.randomUUID().toString()), UUID.randomUUID(),
					digest, Duration.ofSeconds(30), Duration.ofDays(7)))
			.toList();
	}

}
