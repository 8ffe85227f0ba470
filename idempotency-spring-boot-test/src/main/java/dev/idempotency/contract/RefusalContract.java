/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.Optional;
import java.util.stream.Stream;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * The behavior of a store without the privilege to change records.
 */
interface RefusalContract extends StoreContract {

	/**
	 * Return a store with the same records in which every change is refused, for example
	 * because its user has no privileges.
	 */
	default Optional<IdempotencyStore> refused() {
		return Optional.empty();
	}

	@Test
	default void refusalIsNoOutageAndChangesNothing() {
		Optional<IdempotencyStore> without = refused();
		assumeTrue(without.isPresent(), "Override refused() to test that a refusal is no outage");
		IdempotencyStore refused = without.orElseThrow();
		ClaimRequest owned = Requests.request(Requests.newKey());
		Claim.Acquired acquired = Requests.acquire(store(), owned);
		IdempotencyRecord before = record(owned.key());
		ClaimRequest absent = Requests.request(Requests.newKey());
		Stream
			.<ThrowingCallable>of(() -> one(refused).claim(absent), () -> refused.restore(absent, acquired),
					() -> one(refused).complete(owned, null), () -> one(refused).fail(owned, Requests.FAILURE),
					() -> one(refused).release(owned), () -> one(refused).renew(owned))
			.forEach((call) -> assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(call));
		assertThat(one(store()).find(absent.key())).isEmpty();
		assertUnchanged(owned.key(), before);
		assertThat(one(store()).complete(owned, null)).isEqualTo(Settlement.SETTLED);
	}

}
