/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * Calls a store for one key, with a list of one element.
 *
 * @param store the store
 * @since 0.1.0
 */
public record OneKey(IdempotencyStore store) {

	/**
	 * Return the calls of a store for one key.
	 * @param store the store
	 * @return the calls
	 */
	public static OneKey one(IdempotencyStore store) {
		return new OneKey(store);
	}

	/**
	 * Claim a key.
	 * @param request the request
	 * @return the answer
	 */
	public Claim claim(ClaimRequest request) {
		return this.store.claim(List.of(request)).get(0);
	}

	/**
	 * Complete an operation.
	 * @param claim the request that acquired the key
	 * @param result the result to replay, {@code null} for none
	 * @return whether the caller still owned the key
	 */
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return settle(new Ending.Completed(claim, result));
	}

	/**
	 * Record the failure of an operation.
	 * @param claim the request that acquired the key
	 * @param failure the failure
	 * @return whether the caller still owned the key
	 */
	public Settlement fail(ClaimRequest claim, Failure failure) {
		return settle(new Ending.Failed(claim, failure));
	}

	/**
	 * Release a key.
	 * @param claim the request that acquired the key
	 * @return whether the caller still owned the key
	 */
	public Settlement release(ClaimRequest claim) {
		return settle(new Ending.Released(claim));
	}

	/**
	 * Record how a claim has ended.
	 * @param ending the end of the claim
	 * @return whether the caller still owned the key
	 */
	public Settlement settle(Ending ending) {
		return this.store.settle(List.of(ending)).get(0);
	}

	/**
	 * Renew a lease.
	 * @param claim the request that acquired the key
	 * @return whether the caller still owned the key
	 */
	public Settlement renew(ClaimRequest claim) {
		return this.store.renew(List.of(claim)).get(0);
	}

	/**
	 * Look up the record of a key.
	 * @param key the key
	 * @return the record, empty if there is none
	 */
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return Optional.ofNullable(this.store.find(List.of(key)).get(key));
	}

	/**
	 * Insert a completed record for an absent key into the current transaction.
	 * @param request the request
	 * @return the claim; empty if a record exists
	 */
	public Optional<Claim.Acquired> insert(ClaimRequest request) {
		return ((TransactionalIdempotencyStore) this.store).insert(List.of(request))
			.get(0)
			.filter(Claim.Acquired.class::isInstance)
			.map(Claim.Acquired.class::cast);
	}

}
