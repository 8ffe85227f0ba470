/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * A store without records, which treats every key as completed or every key as new.
 */
final class NoOpStore implements IdempotencyStore {

	// The answers for one key, which the benchmark must not count.
	private static final List<Settlement> SETTLED = List.of(Settlement.SETTLED);

	private final Claim claim;

	private final List<Claim> claims;

	NoOpStore(boolean completed) {
		this.claim = completed ? new Claim.Completed(null) : new Claim.Acquired(1, 1);
		this.claims = List.of(this.claim);
	}

	@Override
	public String name() {
		return "none";
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		return (requests.size() == 1) ? this.claims : Collections.nCopies(requests.size(), this.claim);
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		if (endings.get(0) instanceof Ending.Failed failed) {
			throw new IllegalStateException("The handler has failed", new Exception(failed.failure().message()));
		}
		return (endings.size() == 1) ? SETTLED : Collections.nCopies(endings.size(), Settlement.SETTLED);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return Settlement.SETTLED;
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		return Collections.nCopies(claims.size(), Settlement.SETTLED);
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return this.claim;
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		return Map.of();
	}

	@Override
	public void ping() {
	}

}
