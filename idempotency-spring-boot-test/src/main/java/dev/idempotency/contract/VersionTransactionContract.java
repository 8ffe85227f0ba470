/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Versions that are recorded in the handler's transaction.
 */
interface VersionTransactionContract extends TransactionContract {

	private Claim apply(IdempotencyKey key, long version) {
		ClaimRequest request = Requests.version(key, version);
		Claim claim = store().claimInTransaction(List.of(request), false).get(0);
		if (claim instanceof Claim.Acquired) {
			store().storeResults(List.of(new Ending.Completed(request, new byte[] { (byte) version })));
		}
		return claim;
	}

	private void assertCompleted(IdempotencyKey key, long version) {
		assertThat(commit(() -> apply(key, version))).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).containsExactly((byte) version));
		assertThat(record(key).version()).isEqualTo(version);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	default void versionsAreAppliedInAscendingOrder() {
		IdempotencyKey key = Requests.newKey();
		assertThat(commit(() -> apply(key, 5))).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(commit(() -> apply(key, 4))).isEqualTo(new Claim.Stale(5));
		assertCompleted(key, 5);
		assertThat(commit(() -> apply(key, 6))).isEqualTo(new Claim.Acquired(2, 1));
		assertCompleted(key, 6);
		assertThat(one(store()).claim(Requests.version(key, 5))).isEqualTo(new Claim.Stale(6));
	}

	@ParameterizedTest
	@ValueSource(longs = { 4, 5, 6 })
	@Tag("promise-3")
	default void versionIsInsertedIfTheKeyIsAbsent(long version) {
		IdempotencyKey key = Requests.newKey();
		assertThat(commit(() -> one(store()).insert(Requests.version(key, 5)))).contains(new Claim.Acquired(1, 1));
		assertThat(record(key).version()).isEqualTo(5);
		rollBack(() -> assertThat(one(store()).insert(Requests.version(key, version))).isEmpty());
		assertThat(record(key).version()).isEqualTo(5);
	}

	@Test
	@Tag("promise-1")
	default void rolledBackVersionLeavesTheCompletedOne() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> apply(key, 5));
		IdempotencyRecord before = record(key);
		rollBack(() -> assertThat(apply(key, 6)).isInstanceOf(Claim.Acquired.class));
		assertUnchanged(key, before);
		assertCompleted(key, 5);
		assertThat(commit(() -> apply(key, 6))).isInstanceOf(Claim.Acquired.class);
	}

	@Test
	@Tag("promise-5")
	default void notedFailureOfAHigherVersionLeavesTheCompletedOne() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> apply(key, 5));
		assertThat(noteFailures(List.of(Requests.version(key, 6)))).containsExactly(Settlement.SETTLED);
		assertThat(record(key).state()).isEqualTo(State.FAILED);
		assertThat(commit(() -> apply(key, 4))).isEqualTo(new Claim.Stale(5));
		assertCompleted(key, 5);
		assertThat(noteFailures(List.of(Requests.version(key, 6)))).containsExactly(Settlement.SETTLED);
		assertCompleted(key, 5);
		assertThat(commit(() -> apply(key, 6))).isInstanceOf(Claim.Acquired.class);
		assertCompleted(key, 6);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	default void undoneVersionIsClaimedAgainAndExcludesLowerOnes() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> apply(key, 5));
		ClaimRequest own = Requests.version(key, 7);
		commit(() -> store().claimInTransaction(List.of(own), false).get(0));
		store().settleAfterTransaction(Endings.released(List.of(own)), List.of());
		assertThat(commit(() -> apply(key, 5))).isEqualTo(new Claim.Stale(6));
		assertThat(commit(() -> apply(key, 7))).isEqualTo(new Claim.Acquired(3, 1));
		assertCompleted(key, 7);
	}

	@ParameterizedTest
	@ValueSource(longs = { 4, 5 })
	@Tag("promise-3")
	default void failureOfAVersionThatIsNotHigherIsNotNoted(long version) {
		IdempotencyKey key = Requests.newKey();
		commit(() -> apply(key, 5));
		IdempotencyRecord before = record(key);
		ClaimRequest request = Requests.version(key, version);
		assertThat(noteFailures(List.of(request))).containsExactly(Settlement.LOST);
		assertUnchanged(key, before);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	default void versionsOfABatchAreRecordedTogether() {
		List<IdempotencyKey> keys = IntStream.range(0, 4).mapToObj((i) -> Requests.newKey()).toList();
		keys.subList(0, 3).forEach((key) -> commit(() -> apply(key, 5)));
		List<ClaimRequest> batch = IntStream.range(0, 4).mapToObj((i) -> Requests.version(keys.get(i), 4 + i)).toList();
		rollBack(() -> assertBatch(store().claimInTransaction(batch, false)));
		keys.subList(0, 3).forEach((key) -> assertThat(record(key).version()).isEqualTo(5));
		assertThat(one(store()).find(keys.get(3))).isEmpty();
		commit(() -> {
			assertBatch(store().claimInTransaction(batch, false));
			return null;
		});
		assertThat(keys.stream().map((key) -> record(key).version())).containsExactly(5L, 5L, 6L, 7L);
	}

	private static void assertBatch(List<Claim> claims) {
		assertThat(claims.get(0)).isEqualTo(new Claim.Stale(5));
		assertThat(claims.get(1)).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).containsExactly(5));
		assertThat(claims.get(2)).isEqualTo(new Claim.Acquired(2, 1));
		assertThat(claims.get(3)).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	@Tag("promise-3")
	default void insertOfABatchLeavesHigherVersionsToTheClaim() {
		IdempotencyKey known = Requests.newKey();
		IdempotencyKey absent = Requests.newKey();
		commit(() -> apply(known, 5));
		rollBack(() -> {
			List<Optional<Claim>> claims = store()
				.insert(List.of(Requests.version(known, 4), Requests.version(absent, 1)));
			assertThat(claims.get(0)).contains(new Claim.Stale(5));
			assertThat(claims.get(1)).contains(new Claim.Acquired(1, 1));
		});
	}

	private Optional<Claim> unlessRolledBack(Supplier<Claim> action) {
		try {
			return Optional.of(commit(action));
		}
		catch (UnsupportedOperationException ex) {
			return Optional.empty();
		}
	}

	// A transaction that has acquired the key excludes the others until it ends.
	@Test
	@Tag("promise-1")
	@Tag("promise-2")
	default void committedVersionsOfAKeyOnlyGrow() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> apply(key, 0));
		AtomicLong committed = new AtomicLong();
		long end = System.nanoTime() + competition().toNanos() / 10;
		CompletableFuture<?>[] owners = IntStream.range(0, 4).mapToObj((i) -> CompletableFuture.runAsync(() -> {
			ThreadLocalRandom random = ThreadLocalRandom.current();
			for (long version = 1; System.nanoTime() < end; version += random.nextInt(3)) {
				long requested = Math.max(1, version - random.nextInt(3));
				boolean rolledBack = random.nextInt(4) == 0;
				Crowd.answer(() -> unlessRolledBack(() -> {
					ClaimRequest request = Requests.version(key, requested);
					Claim claim = store().claimInTransaction(List.of(request), false).get(0);
					if (claim instanceof Claim.Acquired) {
						assertThat(requested).isGreaterThan(committed.get());
						if (rolledBack) {
							throw new UnsupportedOperationException("rolled back");
						}
						committed.set(requested);
					}
					return claim;
				}));
			}
		}, (task) -> new Thread(task).start())).toArray(CompletableFuture[]::new);
		CompletableFuture.allOf(owners).orTimeout(60, TimeUnit.SECONDS).join();
		assertThat(record(key).version()).isEqualTo(committed.get());
	}

}
