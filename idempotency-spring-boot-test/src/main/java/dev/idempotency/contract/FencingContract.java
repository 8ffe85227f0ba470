/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.Optional;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Mutations by callers that do not own the key. They change nothing.
 */
interface FencingContract extends StoreContract {

	@ParameterizedTest
	@MethodSource("dev.idempotency.contract.Mutation#ofEachKnown")
	@Tag("promise-4")
	default void callerWithoutAClaimChangesNothing(Known known, Mutation mutation) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest owner = known.reach(this, key);
		assertChangesNothing(mutation, Requests.request(key), owner);
	}

	@ParameterizedTest
	@MethodSource("dev.idempotency.contract.Mutation#ofEachKnown")
	@Tag("promise-4")
	default void earlierOwnerChangesNothing(Known known, Mutation mutation) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = Known.EXPIRED.reach(this, key);
		ClaimRequest owner = known.reach(this, key);
		assertChangesNothing(mutation, zombie, owner);
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-4")
	default void ownerThatFailedDoesNotChangeTheNextClaim(Mutation mutation) {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = Known.FAILED.reach(this, key);
		ClaimRequest owner = Known.LIVE.reach(this, key);
		assertChangesNothing(mutation, zombie, owner);
	}

	private void assertChangesNothing(Mutation mutation, ClaimRequest by, ClaimRequest owner) {
		IdempotencyRecord before = record(owner.key());
		assertThat(mutation.apply(store(), by)).isEqualTo(Settlement.LOST);
		assertUnchanged(owner.key(), before);
		if (one(store()).claim(Requests.request(owner.key())) instanceof Claim.Completed completed) {
			assertThat(completed.result()).asString().isEqualTo(owner.token().toString());
		}
	}

	@ParameterizedTest
	@EnumSource
	default void mutationOfAnAbsentKeyLeavesNoRecord(Mutation mutation) {
		IdempotencyKey key = Requests.newKey();
		assertThat(mutation.apply(store(), Requests.request(key))).isEqualTo(Settlement.FORGOTTEN);
		assertThat(one(store()).find(key)).isEqualTo(Optional.empty());
	}

}
