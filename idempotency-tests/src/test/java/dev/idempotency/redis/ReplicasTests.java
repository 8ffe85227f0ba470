/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for completions that replicas must confirm.
 */
class ReplicasTests {

	private static final Pattern WAITS = Pattern.compile("cmdstat_wait:calls=(\\d+)");

	private static RedisProcess master;

	private static RedisProcess replica;

	private static TestRedis redis;

	private static TestRedis copy;

	private final ClaimRequest request = TestDatabase.request(TestDatabase.newKey());

	@BeforeAll
	static void startServers() {
		master = RedisProcess.create();
		replica = RedisProcess.create("--replicaof", master.host(), String.valueOf(master.port()));
		redis = TestRedis.create(master);
		copy = TestRedis.create(replica);
		await().atMost(Duration.ofSeconds(20))
			.until(() -> redis.commands().info("replication").contains("state=online"));
	}

	@AfterAll
	static void stopServers() {
		redis.close();
		copy.close();
		replica.stop();
		master.stop();
	}

	@Test
	void confirmedCompletionExistsOnTheReplica() {
		try (RedisIdempotencyStore store = TestRedis.store(redis.factory(), 1)) {
			one(store).claim(this.request);
			assertThat(one(store).complete(this.request, "done".getBytes(StandardCharsets.UTF_8)))
				.isEqualTo(Settlement.SETTLED);
			assertThat(copy.value(this.request.key())).startsWith("idem1 C ").endsWith("Rdone");
		}
	}

	@Test
	void batchOfCompletionsIsConfirmedByOneWait() {
		try (RedisIdempotencyStore store = TestRedis.store(redis.factory(), 1)) {
			List<ClaimRequest> requests = Stream.generate(() -> TestDatabase.request(TestDatabase.newKey()))
				.limit(50)
				.toList();
			ClaimRequest lost = TestDatabase.request(TestDatabase.newKey());
			store.claim(requests);
			long before = waits();
			assertThat(store.settle(Stream.concat(Stream.of(lost), requests.stream())
				.<Ending>map((claim) -> new Ending.Completed(claim, "done".getBytes(StandardCharsets.UTF_8)))
				.toList())).startsWith(Settlement.FORGOTTEN).filteredOn(Settlement.SETTLED::equals).hasSize(50);
			assertThat(waits() - before).isOne();
			assertThat(requests).allSatisfy(
					(request) -> assertThat(copy.value(request.key())).startsWith("idem1 C ").endsWith("Rdone"));
		}
	}

	@Test
	void storeIsUnavailableWhenTooFewReplicasConfirmABatch() {
		try (RedisIdempotencyStore store = TestRedis.store(redis.factory(), 2)) {
			one(store).claim(this.request);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> store.settle(List.of(new Ending.Completed(this.request, null))))
				.withMessageStartingWith("1 of 2 required replicas confirmed the completion");
		}
	}

	@Test
	void lostOrEmptyBatchDoesNotWaitForReplicas() {
		try (RedisIdempotencyStore store = TestRedis.store(redis.factory(), 2)) {
			assertThat(store.settle(List.of(new Ending.Completed(this.request, null))))
				.containsExactly(Settlement.FORGOTTEN);
			assertThat(store.settle(List.of())).isEmpty();
		}
	}

	private static long waits() {
		Matcher matcher = WAITS.matcher(redis.commands().info("commandstats"));
		return matcher.find() ? Long.parseLong(matcher.group(1)) : 0;
	}

	@Test
	void completionIsSettledByARetryWhenTooFewReplicasConfirmed() {
		try (RedisIdempotencyStore store = TestRedis.store(redis.factory(), 1)) {
			one(store).claim(this.request);
			replica.freeze();
			try {
				assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
					.isThrownBy(() -> one(store).complete(this.request, null))
					.withMessage(
							"0 of 1 required replicas confirmed the completion within PT1S; the completion is retried");
				assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
					.isThrownBy(() -> one(store).complete(this.request, null));
				// Claims use another connection and do not wait.
				assertThat(redis.record(this.request.key()).state()).isEqualTo(State.COMPLETED);
			}
			finally {
				replica.resume();
			}
			await().atMost(Duration.ofSeconds(10))
				.ignoreExceptions()
				.until(() -> one(store).complete(this.request, null), Settlement.SETTLED::equals);
			assertThat(copy.value(this.request.key())).startsWith("idem1 C ");
		}
	}

	@Test
	void storeIsUnavailableWhenMoreReplicasAreRequiredThanExist() {
		try (RedisIdempotencyStore store = TestRedis.store(redis.factory(), 2)) {
			one(store).claim(this.request);
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
				.isThrownBy(() -> one(store).complete(this.request, null))
				.withMessageStartingWith("1 of 2 required replicas confirmed the completion");
		}
	}

	@Test
	void forgottenCompletionDoesNotWaitForReplicas() {
		try (RedisIdempotencyStore store = TestRedis.store(redis.factory(), 2)) {
			assertThat(one(store).complete(this.request, null)).isEqualTo(Settlement.FORGOTTEN);
		}
	}

	@Test
	void closedStoreClosesItsConnections() {
		long before = connections();
		RedisIdempotencyStore store = TestRedis.store(redis.factory(), 1);
		one(store).claim(this.request);
		assertThat(connections()).isEqualTo(before + 1);
		one(store).complete(this.request, null);
		assertThat(connections()).isEqualTo(before + 2);
		store.close();
		await().until(() -> connections() == before);
	}

	private static long connections() {
		redis.store().ping();
		return redis.commands().clientList().lines().filter((client) -> !client.contains("flags=S")).count();
	}

}
