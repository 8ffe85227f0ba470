/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.stream.IntStream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Settlements of a claim by its owner.
 */
interface SettlementContract extends StoreContract {

	@ParameterizedTest
	@EnumSource
	default void ownerOfALiveClaimSettles(Mutation mutation) {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		assertThat(mutation.apply(store(), owner)).isEqualTo(Settlement.SETTLED);
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-4")
	default void ownerSettlesAnExpiredClaimThatIsNotTakenOver(Mutation mutation) {
		ClaimRequest owner = Known.EXPIRED.reach(this, Requests.newKey());
		assertThat(mutation.apply(store(), owner)).isEqualTo(Settlement.SETTLED);
	}

	@ParameterizedTest
	@CsvSource({ "COMPLETED, FAIL", "COMPLETED, RELEASE", "COMPLETED, RENEW", "FAILED, COMPLETE", "FAILED, RENEW",
			"RELEASED, COMPLETE", "RELEASED, RENEW" })
	@Tag("promise-3")
	@Tag("promise-4")
	default void ownerCannotUndoASettlement(Known settled, Mutation mutation) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = settled.reach(this, key);
		IdempotencyRecord before = record(key);
		assertThat(mutation.apply(store(), owner)).isEqualTo(Settlement.LOST);
		assertUnchanged(key, before);
	}

	// The store may return either outcome, because the key is claimable.
	@ParameterizedTest
	@CsvSource({ "FAILED, RELEASE", "RELEASED, FAIL" })
	default void ownerThatFailedOrReleasedItsClaimChangesNothing(Known freed, Mutation mutation) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = freed.reach(this, key);
		IdempotencyRecord before = record(key);
		mutation.apply(store(), owner);
		assertUnchanged(key, before);
	}

	@Test
	default void completionWithoutResultReturnsNoResult() {
		assertThat(resultOf(null)).isNull();
	}

	@Test
	@Tag("promise-8")
	default void emptyResultDiffersFromNoResult() {
		assertThat(resultOf(new byte[0])).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(ints = { 1, 256, 65536 })
	@Tag("promise-8")
	default void binaryResultIsStored(int length) {
		byte[] result = new byte[length];
		IntStream.range(0, length).forEach((i) -> result[i] = (byte) (length - i));
		assertThat(resultOf(result)).isEqualTo(result);
	}

	private byte[] resultOf(byte[] completion) {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		one(store()).complete(owner, completion);
		Claim claim = one(store()).claim(Requests.request(owner.key()));
		assertThat(claim).isInstanceOf(Claim.Completed.class);
		return ((Claim.Completed) claim).result();
	}

}
