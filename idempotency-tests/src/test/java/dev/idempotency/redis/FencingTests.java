/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.util.function.BiFunction;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for settlements of {@link RedisIdempotencyStore} by callers that do not own the
 * key.
 */
@Tag("promise-4")
class FencingTests {

	@RegisterExtension
	static TestRedis redis = TestRedis.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest zombie = TestDatabase.request(this.key);

	private final ClaimRequest owner = TestDatabase.request(this.key);

	static Stream<Named<BiFunction<IdempotencyStore, ClaimRequest, Settlement>>> mutations() {
		return Stream.of(Named.of("complete", (store, claim) -> one(store).complete(claim, new byte[] { 9 })),
				Named.of("fail", (store, claim) -> one(store).fail(claim, new Failure("zombie", "zombie"))),
				Named.of("release", (store, claim) -> one(store).release(claim)),
				Named.of("renew", (store, claim) -> one(store).renew(claim)));
	}

	private void takeOver() {
		one(redis.store()).claim(this.zombie);
		redis.endLease(this.key);
		assertThat(one(redis.store()).claim(this.owner)).isEqualTo(new Claim.Acquired(2, 2));
	}

	private void assertUnchanged(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation, ClaimRequest by,
			Settlement expected) {
		String value = redis.value(this.key);
		assertThat(mutation.apply(redis.store(), by)).isEqualTo(expected);
		assertThat(redis.value(this.key)).isEqualTo(value);
	}

	@ParameterizedTest
	@MethodSource("mutations")
	void staleOwnerCannotChangeALiveClaim(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation) {
		takeOver();
		assertUnchanged(mutation, this.zombie, Settlement.LOST);
	}

	@ParameterizedTest
	@MethodSource("mutations")
	void staleOwnerCannotChangeACompletedKey(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation) {
		takeOver();
		one(redis.store()).complete(this.owner, null);
		assertUnchanged(mutation, this.zombie, Settlement.LOST);
	}

	@ParameterizedTest
	@MethodSource("mutations")
	void staleOwnerCannotChangeAFailedKey(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation) {
		takeOver();
		one(redis.store()).fail(this.owner, new Failure("second", null));
		assertUnchanged(mutation, this.zombie, Settlement.LOST);
	}

	@Test
	void ownerThatFailedMayOnlyRepeatItself() {
		one(redis.store()).claim(this.owner);
		one(redis.store()).fail(this.owner, new Failure("first", null));
		assertUnchanged((store, claim) -> one(store).complete(claim, null), this.owner, Settlement.LOST);
		assertUnchanged((store, claim) -> one(store).renew(claim), this.owner, Settlement.LOST);
		assertUnchanged((store, claim) -> one(store).fail(claim, new Failure("again", null)), this.owner,
				Settlement.SETTLED);
		assertUnchanged((store, claim) -> one(store).release(claim), this.owner, Settlement.SETTLED);
	}

	@Test
	void ownerThatCompletedMayOnlyRepeatItself() {
		one(redis.store()).claim(this.owner);
		one(redis.store()).complete(this.owner, new byte[] { 1 });
		assertUnchanged((store, claim) -> one(store).complete(claim, new byte[] { 1 }), this.owner, Settlement.SETTLED);
		assertUnchanged((store, claim) -> one(store).fail(claim, new Failure("late", null)), this.owner,
				Settlement.LOST);
		assertUnchanged((store, claim) -> one(store).release(claim), this.owner, Settlement.LOST);
		assertUnchanged((store, claim) -> one(store).renew(claim), this.owner, Settlement.LOST);
	}

	@Test
	void ownerWithAnExpiredLeaseCompletesUnlessTheKeyWasTakenOver() {
		one(redis.store()).claim(this.owner);
		redis.endLease(this.key);
		assertThat(one(redis.store()).complete(this.owner, null)).isEqualTo(Settlement.SETTLED);
	}

}
