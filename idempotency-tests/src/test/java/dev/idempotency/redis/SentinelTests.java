/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.RedisSentinel;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link RedisIdempotencyStore} with Sentinel.
 */
class SentinelTests {

	@Test
	@Tag("promise-11")
	void confirmedCompletionSurvivesAFailoverBySentinel() {
		ClaimRequest completed = TestDatabase.request(TestDatabase.newKey());
		try (RedisSentinel servers = new RedisSentinel()) {
			RedisSentinelConfiguration configuration = new RedisSentinelConfiguration().master(RedisSentinel.MASTER);
			servers.sentinels().forEach((sentinel) -> configuration.sentinel(sentinel.host(), sentinel.port()));
			LettuceConnectionFactory factory = TestRedis.started(new LettuceConnectionFactory(configuration));
			try (RedisIdempotencyStore store = TestRedis.store(factory, 1)) {
				TestRedis.awaitContact(store);
				assertThat(one(store).claim(completed)).isEqualTo(new Claim.Acquired(1, 1));
				await().atMost(Duration.ofSeconds(30))
					.ignoreExceptions()
					.until(() -> one(store).complete(completed, null), Settlement.SETTLED::equals);
				servers.master().stop();
				await().atMost(Duration.ofSeconds(40))
					.ignoreExceptions()
					.until(() -> one(store).claim(TestDatabase.request(completed.key())),
							new Claim.Completed(null)::equals);
				ClaimRequest next = TestDatabase.request(TestDatabase.newKey());
				assertThat(one(store).claim(next)).isEqualTo(new Claim.Acquired(1, 1));
			}
			finally {
				factory.destroy();
			}
		}
	}

}
