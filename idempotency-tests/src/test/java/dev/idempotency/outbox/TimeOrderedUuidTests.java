/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link TimeOrderedUuid}.
 */
class TimeOrderedUuidTests {

	private static final int THREADS = 8;

	private static final int EACH = 12_500;

	private static final long NOW = 1_800_000_000_000L;

	@Test
	void versionAndVariantAreThoseOfTheStandard() {
		UUID uuid = TimeOrderedUuid.next();
		assertThat(uuid.version()).isEqualTo(7);
		assertThat(uuid.variant()).isEqualTo(2);
		assertThat(uuid.toString()).matches("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");
	}

	@Test
	void layoutIsThatOfTheStandard() {
		// The time and rand_a of the example in RFC 9562, appendix A.6.
		assertThat(TimeOrderedUuid.layout((0x017F22E279B0L << 12) | 0xCC3)).isEqualTo(0x017F22E279B07CC3L);
	}

	@Test
	void timeOfTheUuidIsThatOfTheClock() {
		long before = System.currentTimeMillis();
		long time = TimeOrderedUuid.next().getMostSignificantBits() >>> 16;
		assertThat(Instant.ofEpochMilli(time)).isBetween(Instant.ofEpochMilli(before),
				Instant.ofEpochMilli(System.currentTimeMillis() + 1000));
	}

	@Test
	void uuidsAreUniqueAndIncreaseInEachThread() throws Exception {
		ExecutorService threads = Executors.newFixedThreadPool(THREADS);
		try {
			CountDownLatch start = new CountDownLatch(1);
			List<Future<List<UUID>>> futures = IntStream.range(0, THREADS).mapToObj((i) -> threads.submit(() -> {
				start.await();
				return Stream.generate(TimeOrderedUuid::next).limit(EACH).toList();
			})).toList();
			start.countDown();
			List<List<UUID>> each = futures.stream().map(TimeOrderedUuidTests::get).toList();
			// Increasing as text and as a number; the upper halves alone are unique.
			assertThat(each).allSatisfy((uuids) -> assertThat(uuids).isSorted());
			assertThat(each).allSatisfy((uuids) -> assertThat(uuids.stream().map(UUID::toString).toList()).isSorted());
			assertThat(each.stream().flatMap(List::stream).map(UUID::getMostSignificantBits).distinct())
				.hasSize(THREADS * EACH);
		}
		finally {
			threads.shutdownNow();
		}
	}

	@Test
	void laterMillisecondStartsTheCounterBelowHalfOfItsRange() {
		assertThat(TimeOrderedUuid.following(tick(NOW, 5), NOW + 1, 0)).isEqualTo(tick(NOW + 1, 0));
		assertThat(TimeOrderedUuid.following(tick(NOW, 5), NOW + 1, -1)).isEqualTo(tick(NOW + 1, 0x7FF));
	}

	@Test
	void counterIncreasesWithinAMillisecond() {
		assertThat(TimeOrderedUuid.following(tick(NOW, 5), NOW, -1)).isEqualTo(tick(NOW, 6));
	}

	@Test
	void timeIsAheadOfTheClockWhenTheCounterOverflows() {
		assertThat(TimeOrderedUuid.following(tick(NOW, 0xFFF), NOW, -1)).isEqualTo(tick(NOW + 1, 0));
		assertThat(TimeOrderedUuid.following(tick(NOW + 1, 0), NOW, -1)).isEqualTo(tick(NOW + 1, 1));
	}

	@Test
	void timeDoesNotDecreaseWhenTheClockIsSetBack() {
		assertThat(TimeOrderedUuid.following(tick(NOW, 5), NOW - 60_000, -1)).isEqualTo(tick(NOW, 6));
	}

	private static long tick(long millis, int counter) {
		return (millis << 12) | counter;
	}

	private static <T> T get(Future<T> future) {
		try {
			return future.get();
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

}
