/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisAdvancedClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.Partitions;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Overview;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for a server with more records than a call may read.
 */
class RecordScanTests {

	private static final int MORE = 50_000;

	@Test
	void scanOfALargeServerEndsInTimeAndReportsThatItIsIncomplete() {
		RedisProcess server = RedisProcess.create();
		try (TestRedis redis = TestRedis.create(server)) {
			ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
			one(redis.store()).claim(request);
			one(redis.store()).complete(request, null);
			fill(redis, redis.value(request.key()), IdempotencyRecords.WINDOW + MORE);
			long start = System.nanoTime();
			Overview overview = redis.store().records().orElseThrow().overview();
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TestRedis.TIMEOUT);
			assertThat(overview.complete()).isFalse();
			assertThat(overview.estimate()).isEqualTo(IdempotencyRecords.WINDOW + MORE + 1L);
			assertThat(overview.scopes()).singleElement()
				.satisfies((scope) -> assertThat(scope.completed()).isBetween(1L, IdempotencyRecords.WINDOW + 5000L));
			assertThat(redis.store().records().orElseThrow().failed(10, null).complete()).isFalse();
		}
		finally {
			server.stop();
		}
	}

	@Test
	void listWithoutALimitContainsAllRecords() {
		RedisProcess server = RedisProcess.create();
		try (TestRedis redis = TestRedis.create(server)) {
			ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
			one(redis.store()).claim(request);
			one(redis.store()).fail(request, new Failure("type", null));
			fill(redis, redis.value(request.key()), 3000);
			Page failed = redis.store().records().orElseThrow().failed(Integer.MAX_VALUE, null);
			assertThat(failed.complete()).isTrue();
			assertThat(failed.records()).hasSizeGreaterThanOrEqualTo(3001);
		}
		finally {
			server.stop();
		}
	}

	@Test
	void selectionIsReadPageByPageToItsEnd() {
		RedisProcess server = RedisProcess.create();
		try (TestRedis redis = TestRedis.create(server)) {
			ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
			one(redis.store()).claim(request);
			one(redis.store()).complete(request, null);
			fill(redis, redis.value(request.key()), 3000);
			assertThat(evictable(redis.store().records().orElseThrow(), request.key().scope()))
				.isGreaterThanOrEqualTo(3001);
		}
		finally {
			server.stop();
		}
	}

	@Test
	@SuppressWarnings("unchecked")
	void scanOfAClusterWithoutAMasterReportsAnUnavailableStore() {
		RedisAdvancedClusterAsyncCommands<byte[], byte[]> commands = mock();
		StatefulRedisClusterConnection<byte[], byte[]> connection = mock();
		given(commands.getStatefulConnection()).willReturn(connection);
		given(connection.getPartitions()).willReturn(new Partitions());
		RecordScan scan = new RecordScan(commands, new RecordScripts(TestRedis.PREFIX),
				Deadline.after(TestRedis.TIMEOUT));
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> scan.scan(null, (scanned) -> true))
			.withMessage("The topology of the Redis cluster contains no master");
	}

	// Every copy has the same key in its value.
	private static int evictable(IdempotencyRecords records, String scope) {
		int found = 0;
		String next = null;
		int pages = 0;
		do {
			pages++;
			Page page = records.evictable(new Selection(scope, "", null, null), false, 1, next);
			found += page.records().size();
			next = page.next();
		}
		while (next != null);
		assertThat(pages).isGreaterThan(2);
		return found;
	}

	private static void fill(TestRedis redis, String value, int count) {
		redis.commands()
			.eval("for i = 1, tonumber(ARGV[1]) do redis.call('SET', KEYS[1] .. '{' .. i .. '}', ARGV[2]) end",
					ScriptOutputType.STATUS, new byte[][] { TestRedis.PREFIX.getBytes(StandardCharsets.US_ASCII) },
					Integer.toString(count).getBytes(StandardCharsets.US_ASCII),
					value.getBytes(StandardCharsets.ISO_8859_1));
	}

}
