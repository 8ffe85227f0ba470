/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.UUID;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the time to live of the keys of {@link RedisIdempotencyStore}.
 */
class TimeToLiveTests {

	@RegisterExtension
	static TestRedis redis = TestRedis.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest claim = TestDatabase.request(this.key);

	private void shorten(Duration left) {
		redis.commands().pexpire(TestRedis.bytes(this.key), left.toMillis());
	}

	@Test
	void retentionBeginsWithTheClaim() {
		one(redis.store()).claim(this.claim);
		assertThat(redis.timeToLive(this.key)).isBetween(TestDatabase.RETENTION.toMillis() - 10_000,
				TestDatabase.RETENTION.toMillis());
	}

	@Test
	void settlementsKeepTheRetention() {
		one(redis.store()).claim(this.claim);
		shorten(Duration.ofMinutes(10));
		one(redis.store()).fail(this.claim, new Failure("x", null));
		assertThat(redis.timeToLive(this.key)).isBetween(500_000L, 600_000L);
		ClaimRequest second = TestDatabase.request(this.key);
		one(redis.store()).claim(second);
		assertThat(redis.timeToLive(this.key)).isGreaterThan(600_000L);
		shorten(Duration.ofMinutes(10));
		one(redis.store()).complete(second, null);
		assertThat(redis.timeToLive(this.key)).isBetween(500_000L, 600_000L);
		one(redis.store()).complete(second, null);
		assertThat(redis.timeToLive(this.key)).isBetween(500_000L, 600_000L);
	}

	@Test
	@Tag("promise-2")
	void renewalKeepsTheRetentionUnlessTheLeaseIsLonger() {
		one(redis.store()).claim(this.claim);
		shorten(Duration.ofMinutes(10));
		one(redis.store()).renew(this.claim);
		assertThat(redis.timeToLive(this.key)).isBetween(500_000L, 600_000L);
		shorten(Duration.ofSeconds(10));
		one(redis.store()).renew(this.claim);
		assertThat(redis.timeToLive(this.key)).isBetween(50_000L, TestDatabase.LEASE.toMillis());
	}

	@Test
	@Tag("promise-2")
	void claimExistsAtLeastForItsLease() {
		one(redis.store())
			.claim(new ClaimRequest(this.key, UUID.randomUUID(), null, TestDatabase.LEASE, Duration.ofMillis(1)));
		assertThat(redis.timeToLive(this.key)).isBetween(50_000L, TestDatabase.LEASE.toMillis());
	}

	@Test
	@Tag("promise-3")
	void keyIsAbsentAfterItsRetention() {
		one(redis.store()).claim(this.claim);
		one(redis.store()).complete(this.claim, null);
		shorten(Duration.ofMillis(1));
		await().until(() -> one(redis.store()).find(this.key).isEmpty());
		assertThat(one(redis.store()).claim(TestDatabase.request(this.key))).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	void completionOfAClaimThatRedisHasRemovedIsForgotten() {
		one(redis.store()).claim(this.claim);
		redis.commands().del(TestRedis.bytes(this.key));
		assertThat(one(redis.store()).complete(this.claim, null)).isEqualTo(Settlement.FORGOTTEN);
	}

}
