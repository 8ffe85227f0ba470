/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * The answer to a claim without the claim, for claims of another store.
 */
interface LookUpContract extends StoreContract {

	@Test
	default void absentKeyWouldBeAcquired() {
		IdempotencyKey key = Requests.newKey();
		assertThat(lookUp(key, null)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(store()).find(key)).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = { "LIVE", "COMPLETED" })
	@Tag("promise-4")
	default void freeKeyWouldBeAcquiredLikeByAClaim(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		Claim answer = lookUp(key, null);
		assertThat(answer).isEqualTo(Requests.acquire(store(), Requests.request(key)));
	}

	@Test
	default void keyAfterItsRetentionWouldBeAcquired() {
		ClaimRequest owner = Requests.request(Requests.newKey(), lease(), retention());
		Requests.acquire(store(), owner);
		one(store()).complete(owner, null);
		letPass(retention());
		Claim answer = lookUp(owner.key(), null);
		assertThat(answer).isEqualTo(Requests.acquire(store(), Requests.request(owner.key())));
	}

	@Test
	default void recordsOfSeveralKeysAreFoundTogether() {
		ClaimRequest completed = Requests.request(Requests.newKey());
		Requests.acquire(store(), completed);
		one(store()).complete(completed, new byte[] { 1 });
		ClaimRequest failed = Requests.request(Requests.newKey());
		Requests.acquire(store(), failed);
		one(store()).fail(failed, new Failure("type", "message"));
		IdempotencyKey absent = Requests.newKey();
		assertThat(store().find(List.of(completed.key(), absent, failed.key(), completed.key())))
			.containsOnlyKeys(completed.key(), failed.key())
			// A store may compute the end of the retention from the time that is left.
			.allSatisfy((key, record) -> assertThat(one(store()).find(key)).get()
				.usingRecursiveComparison()
				.ignoringFields("expiresAt")
				.isEqualTo(record));
		assertThat(store().find(List.of())).isEmpty();
	}

	@Test
	@Tag("promise-3")
	default void completedKeyHasItsResult() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		Requests.acquire(store(), owner);
		one(store()).complete(owner, new byte[] { 1, 2 });
		assertThat(lookUp(owner.key(), null)).isInstanceOfSatisfying(Claim.Completed.class,
				(completed) -> assertThat(completed.result()).containsExactly(1, 2));
	}

	@Test
	@Tag("promise-2")
	default void liveClaimHasTheRestOfItsLease() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		assertThat(lookUp(owner.key(), null)).isInstanceOfSatisfying(Claim.InProgress.class,
				(claim) -> assertThat(claim.retryAfter()).isPositive().isLessThanOrEqualTo(Requests.LEASE));
	}

	@Test
	default void ownClaimWouldBeAcquiredAgain() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		Claim.Acquired acquired = Requests.acquire(store(), owner);
		assertThat(store().lookUp(owner)).isEqualTo(acquired);
	}

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "COMPLETED" })
	@Tag("promise-9")
	default void lookUpComparesTheContent(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		assertThat(lookUp(key, "b")).isEqualTo(new Claim.Mismatch());
		assertThat(lookUp(key, "a")).isNotInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@EnumSource
	default void lookUpOfAClaimChangesNothing(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		IdempotencyRecord before = record(key);
		lookUp(key, null);
		assertUnchanged(key, before);
	}

	private Claim lookUp(IdempotencyKey key, @Nullable String content) {
		return store().lookUp(Requests.request(key, content, Requests.LEASE, Requests.RETENTION));
	}

}
