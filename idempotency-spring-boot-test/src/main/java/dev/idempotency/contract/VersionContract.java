/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Claims of versions. The version that completed last decides, whatever became of the
 * claims of higher versions.
 */
interface VersionContract extends StoreContract {

	private static byte[] result(long version) {
		return ByteBuffer.allocate(8).putLong(version).array();
	}

	private ClaimRequest acquired(IdempotencyKey key, long version) {
		return acquired(Requests.version(key, version));
	}

	private ClaimRequest acquired(ClaimRequest request) {
		Requests.acquire(store(), request);
		return request;
	}

	private ClaimRequest completed(IdempotencyKey key, long version) {
		ClaimRequest owner = acquired(key, version);
		assertThat(one(store()).complete(owner, result(version))).isEqualTo(Settlement.SETTLED);
		return owner;
	}

	// What a claim and a look-up answer must be the same.
	private Claim ask(IdempotencyKey key, @Nullable Long version) {
		ClaimRequest request = new ClaimRequest(key, UUID.randomUUID(), null, Requests.LEASE, Requests.RETENTION,
				version);
		Claim lookedUp = store().lookUp(request);
		Claim claim = one(store()).claim(request);
		assertThat(claim.getClass()).isEqualTo(lookedUp.getClass());
		return claim;
	}

	private void assertCompleted(IdempotencyKey key, long version) {
		assertThat(ask(key, version)).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).isEqualTo(result(version)));
	}

	@Test
	@Tag("promise-3")
	default void lowerVersionIsStaleAndChangesNothing() {
		IdempotencyKey key = Requests.newKey();
		completed(key, 5);
		IdempotencyRecord before = record(key);
		assertThat(before.version()).isEqualTo(5);
		assertThat(ask(key, 4L)).isEqualTo(new Claim.Stale(5));
		assertUnchanged(key, before);
	}

	@Test
	@Tag("promise-3")
	default void equalVersionReturnsTheResult() {
		IdempotencyKey key = Requests.newKey();
		completed(key, 5);
		IdempotencyRecord before = record(key);
		assertCompleted(key, 5);
		assertUnchanged(key, before);
	}

	@Test
	@Tag("promise-4")
	default void higherVersionIsAcquiredAsAFirstAttemptWithALargerFence() {
		IdempotencyKey key = Requests.newKey();
		completed(key, 5);
		assertThat(ask(key, 6L)).isEqualTo(new Claim.Acquired(2, 1));
		IdempotencyRecord record = record(key);
		assertThat(record.state()).isEqualTo(State.IN_PROGRESS);
		assertThat(record.version()).isEqualTo(5);
		assertThat(record.completedAt()).isNull();
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "COMPLETED")
	@Tag("promise-3")
	default void completedVersionIsRememberedWhateverBecomesOfAHigherOne(Known known) {
		IdempotencyKey key = Requests.newKey();
		completed(key, 5);
		Duration lease = (known == Known.EXPIRED) ? lease() : Requests.LEASE;
		ClaimRequest higher = acquired(Requests.version(key, 8, null, lease, Requests.RETENTION));
		switch (known) {
			case EXPIRED -> letExpire(Requests.version(key, 8, null, lease, Requests.RETENTION));
			case FAILED -> assertThat(one(store()).fail(higher, Requests.FAILURE)).isEqualTo(Settlement.SETTLED);
			case RELEASED -> assertThat(one(store()).release(higher)).isEqualTo(Settlement.SETTLED);
			default -> {
			}
		}
		assertThat(ask(key, 4L)).isEqualTo(new Claim.Stale(5));
		assertCompleted(key, 5);
		assertThat(record(key).version()).isEqualTo(5);
		if (known == Known.LIVE) {
			assertThat(ask(key, 7L)).isInstanceOf(Claim.InProgress.class);
			assertThat(ask(key, 9L)).isInstanceOf(Claim.InProgress.class);
			assertThat(ask(key, null)).isInstanceOf(Claim.InProgress.class);
		}
		else {
			assertThat(ask(key, 7L)).isInstanceOf(Claim.Acquired.class);
			assertThat(one(store()).complete(higher, null)).isEqualTo(Settlement.LOST);
		}
	}

	@Test
	@Tag("promise-4")
	default void lateOwnerOfALowerVersionIsFenced() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest late = acquired(Requests.version(key, 5, null, lease(), Requests.RETENTION));
		letExpire(late);
		completed(key, 6);
		assertThat(one(store()).complete(late, result(5))).isEqualTo(Settlement.LOST);
		assertCompleted(key, 6);
		assertThat(ask(key, 5L)).isEqualTo(new Claim.Stale(6));
	}

	@Test
	@Tag("promise-3")
	default void versionsDoNotConcernARequestWithoutOne() {
		IdempotencyKey key = Requests.newKey();
		completed(key, 5);
		assertThat(ask(key, null)).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).isEqualTo(result(5)));
	}

	@Test
	@Tag("promise-3")
	default void completionWithoutAVersionIsBelowAllVersions() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest without = acquired(Requests.request(key));
		one(store()).complete(without, null);
		assertThat(record(key).version()).isNull();
		completed(key, Long.MIN_VALUE);
		assertCompleted(key, Long.MIN_VALUE);
	}

	@Test
	@Tag("promise-3")
	default void versionsAreWholeNumbersOf64Bits() {
		IdempotencyKey key = Requests.newKey();
		for (long version : new long[] { Long.MIN_VALUE, -1, 0, 1, (1L << 53) + 1, Long.MAX_VALUE - 1,
				Long.MAX_VALUE }) {
			completed(key, version);
			assertThat(record(key).version()).isEqualTo(version);
			assertCompleted(key, version);
			if (version != Long.MIN_VALUE) {
				assertThat(ask(key, version - 1)).isEqualTo(new Claim.Stale(version));
			}
		}
	}

	@Test
	@Tag("promise-9")
	default void contentIsComparedForAnEqualVersionOnly() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = acquired(content(key, 5, "a"));
		one(store()).complete(owner, result(5));
		assertThat(one(store()).claim(content(key, 5, "b"))).isEqualTo(new Claim.Mismatch());
		assertThat(one(store()).claim(content(key, 5, "a"))).isInstanceOf(Claim.Completed.class);
		assertThat(one(store()).claim(content(key, 4, "b"))).isEqualTo(new Claim.Stale(5));
		ClaimRequest higher = acquired(content(key, 6, "b"));
		assertThat(one(store()).claim(content(key, 5, "a"))).isInstanceOf(Claim.Completed.class);
		assertThat(one(store()).claim(content(key, 6, "c"))).isInstanceOf(Claim.InProgress.class);
		one(store()).complete(higher, null);
		assertThat(one(store()).claim(content(key, 6, "c"))).isEqualTo(new Claim.Mismatch());
	}

	private static ClaimRequest content(IdempotencyKey key, long version, String content) {
		return Requests.version(key, version, content, Requests.LEASE, Requests.RETENTION);
	}

	@Test
	@Tag("promise-3")
	default void repeatedCallsOfTheOwnerReturnTheSame() {
		IdempotencyKey key = Requests.newKey();
		completed(key, 5);
		ClaimRequest owner = Requests.version(key, 6);
		Claim first = one(store()).claim(owner);
		assertThat(one(store()).claim(owner)).isEqualTo(first).isInstanceOf(Claim.Acquired.class);
		assertThat(store().lookUp(owner)).isEqualTo(first);
		assertThat(one(store()).renew(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).complete(owner, result(6))).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).complete(owner, result(7))).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).claim(owner)).isInstanceOf(Claim.Completed.class);
		assertCompleted(key, 6);
	}

	@Test
	@Tag("promise-3")
	default void restoredClaimCompletesItsVersion() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = Requests.version(key, 5);
		assertThat(store().restore(owner, new Claim.Acquired(3, 1))).isEqualTo(Settlement.SETTLED);
		assertThat(record(key).version()).isNull();
		assertThat(one(store()).complete(owner, result(5))).isEqualTo(Settlement.SETTLED);
		assertThat(ask(key, 4L)).isEqualTo(new Claim.Stale(5));
	}

	@ParameterizedTest
	@ValueSource(longs = { 4, 5, 6 })
	@Tag("promise-7")
	default void versionIsForgottenWhenTheRetentionHasEnded(long version) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = acquired(Requests.version(key, 5, null, lease(), retention()));
		one(store()).complete(owner, null);
		letPass(retention());
		assertThat(one(store()).claim(Requests.version(key, version))).isInstanceOf(Claim.Acquired.class);
	}

	@Test
	@Tag("promise-7")
	default void versionIsKeptForAHundredYears() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = acquired(Requests.version(key, 5, null, Requests.LEASE, Duration.ofDays(36_500)));
		assertThat(one(store()).renew(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(one(store()).complete(owner, null)).isEqualTo(Settlement.SETTLED);
		assertThat(record(key).expiresAt()).isAfter(Instant.now().plus(Duration.ofDays(36_400)));
		assertThat(ask(key, 4L)).isEqualTo(new Claim.Stale(5));
	}

	@Test
	@Tag("promise-3")
	default void versionsOfABatchAreComparedOneByOne() {
		List<IdempotencyKey> keys = IntStream.range(0, 6).mapToObj((i) -> Requests.newKey()).toList();
		List<ClaimRequest> first = keys.stream().map((key) -> Requests.version(key, 5)).toList();
		assertThat(store().claim(first)).containsOnly(new Claim.Acquired(1, 1));
		assertThat(store().settle(Endings.completed(first, result(5)))).containsOnly(Settlement.SETTLED);
		acquired(keys.get(3), 8);
		ClaimRequest failed = acquired(keys.get(4), 8);
		assertThat(store().settle(Endings.failed(List.of(failed), Requests.FAILURE))).containsOnly(Settlement.SETTLED);
		List<Long> versions = List.of(4L, 5L, 6L, 6L, 5L, 6L);
		List<Claim> claims = store().claim(IntStream.range(0, 6)
			.mapToObj((i) -> (i == 5) ? Requests.request(keys.get(5)) : Requests.version(keys.get(i), versions.get(i)))
			.toList());
		assertThat(claims.get(0)).isEqualTo(new Claim.Stale(5));
		assertThat(claims.get(1)).isInstanceOf(Claim.Completed.class);
		assertThat(claims.get(2)).isEqualTo(new Claim.Acquired(2, 1));
		assertThat(claims.get(3)).isInstanceOf(Claim.InProgress.class);
		assertThat(claims.get(4)).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).isEqualTo(result(5)));
		assertThat(claims.get(5)).isInstanceOf(Claim.Completed.class);
	}

	@ParameterizedTest
	@ValueSource(longs = { 4, 5, 6 })
	@Tag("promise-3")
	default void versionIsClaimedAhead(long version) {
		IdempotencyKey key = Requests.newKey();
		completed(key, 5);
		ClaimRequest owner = acquired(Requests.newKey(), 1);
		CompletionAndClaim answer = store().completeAndClaim(new Ending.Completed(owner, result(1)),
				Requests.version(key, version));
		assertThat(answer.settlement()).isEqualTo(Settlement.SETTLED);
		assertCompleted(owner.key(), 1);
		if (version == 6) {
			assertThat(answer.claim()).isEqualTo(new Claim.Acquired(2, 1));
		}
		else if (version == 5) {
			assertThat(answer.claim()).isInstanceOf(Claim.Completed.class);
		}
		else {
			assertThat(answer.claim()).isEqualTo(new Claim.Stale(5));
		}
	}

	// An owner knows that no other one changes the version before it settles its claim.
	// On a busy machine, they may have completed nothing at the end of the time.
	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	default void completedVersionsOfAKeyOnlyGrow() {
		IdempotencyKey key = Requests.newKey();
		AtomicLong completed = new AtomicLong(-1);
		long end = System.nanoTime() + competition().toNanos() / 10;
		CompletableFuture<?>[] owners = IntStream.range(0, 4).mapToObj((i) -> CompletableFuture.runAsync(() -> {
			ThreadLocalRandom random = ThreadLocalRandom.current();
			for (long version = 0; System.nanoTime() < end || completed.get() < 0; version += random.nextInt(3)) {
				compete(key, Math.max(0, version - random.nextInt(3)), completed, random);
			}
		}, (task) -> new Thread(task).start())).toArray(CompletableFuture[]::new);
		CompletableFuture.allOf(owners).orTimeout(60, TimeUnit.SECONDS).join();
		assertThat(record(key).version()).isEqualTo(completed.get());
	}

	private void compete(IdempotencyKey key, long version, AtomicLong completed, ThreadLocalRandom random) {
		ClaimRequest request = Requests.version(key, version);
		long before = completed.get();
		Claim claim = Crowd.answer(() -> one(store()).claim(request));
		if (claim instanceof Claim.Acquired) {
			assertThat(version).isGreaterThan(completed.get());
			if (random.nextInt(4) == 0) {
				Crowd.answer(() -> random.nextBoolean() ? one(store()).release(request)
						: one(store()).fail(request, Requests.FAILURE));
			}
			else {
				completed.set(version);
				assertThat(Crowd.answer(() -> one(store()).complete(request, result(version))))
					.isEqualTo(Settlement.SETTLED);
			}
		}
		else if (claim instanceof Claim.Stale stale) {
			assertThat(stale.completed()).isGreaterThan(version).isLessThanOrEqualTo(completed.get());
		}
		else if (claim instanceof Claim.Completed repeated) {
			assertThat(repeated.result()).isEqualTo(result(version));
		}
		assertThat(before).isLessThanOrEqualTo(completed.get());
	}

	@Test
	@Tag("promise-3")
	default void versionsOutOfOrderEndWithTheHighest() {
		IdempotencyKey key = Requests.newKey();
		for (long version : LongStream.of(3, 1, 7, 7, 2, 9, 8).toArray()) {
			ClaimRequest request = Requests.version(key, version);
			if (one(store()).claim(request) instanceof Claim.Acquired) {
				one(store()).complete(request, result(version));
			}
		}
		assertThat(record(key).version()).isEqualTo(9);
		assertThat(record(key).fence()).isEqualTo(3);
	}

}
