/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.caffeine;

import java.time.Duration;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link CaffeineCompletionCache}.
 */
class CaffeineCompletionCacheTests {

	private static final Duration LONG = Duration.ofHours(1);

	private final CaffeineCompletionCache cache = new CaffeineCompletionCache(100_000, Duration.ofHours(1));

	private static IdempotencyKey key(int number) {
		return IdempotencyKey.of("scope", "key" + number);
	}

	@Test
	void unknownKeyIsNotFound() {
		assertThat(this.cache.find(key(1), null)).isNull();
	}

	@Test
	void resultIsFound() {
		this.cache.add(key(1), null, new byte[] { 1 }, LONG);
		assertThat(this.cache.find(key(1), null).result()).containsExactly(1);
	}

	@Test
	void completionWithoutResultIsFound() {
		this.cache.add(key(1), null, null, LONG);
		assertThat(this.cache.find(key(1), null).result()).isNull();
	}

	@Test
	void entryWithAnotherFingerprintIsNotUsed() {
		this.cache.add(key(1), new byte[] { 1 }, null, LONG);
		assertThat(this.cache.find(key(1), new byte[] { 2 })).isNull();
		assertThat(this.cache.find(key(1), null)).isNull();
		assertThat(this.cache.find(key(1), new byte[] { 1 })).isNotNull();
	}

	@Test
	void keyOfAnotherScopeIsNotFound() {
		this.cache.add(key(1), null, null, LONG);
		assertThat(this.cache.find(IdempotencyKey.of("other", "key1"), null)).isNull();
	}

	@Test
	void memoryIsBounded() {
		IntStream.range(0, 1000).forEach((i) -> this.cache.add(key(i), null, new byte[1000], LONG));
		await().untilAsserted(
				() -> assertThat(IntStream.range(0, 1000).filter((i) -> this.cache.find(key(i), null) != null).count())
					.isBetween(1L, 100L));
	}

	@Test
	void entryExpiresAfterTheRetention() {
		this.cache.add(key(1), null, null, Duration.ofMillis(500));
		assertThat(this.cache.find(key(1), null)).isNotNull();
		await().until(() -> this.cache.find(key(1), null) == null);
	}

	@Test
	void entryExpiresAfterItsTimeToLive() {
		CaffeineCompletionCache brief = new CaffeineCompletionCache(100_000, Duration.ofMillis(500));
		brief.add(key(1), null, null, LONG);
		assertThat(brief.find(key(1), null)).isNotNull();
		await().until(() -> brief.find(key(1), null) == null);
	}

}
