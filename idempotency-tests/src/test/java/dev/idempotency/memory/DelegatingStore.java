/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static dev.idempotency.contract.OneKey.one;

/**
 * A correct store, as the delegate of a defective one. The methods of the interface call
 * one method for each key, which a defective store overrides.
 */
class DelegatingStore implements IdempotencyStore {

	private final IdempotencyStore healthy;

	private final Map<IdempotencyKey, ClaimRequest> owners = new ConcurrentHashMap<>();

	private final Map<ClaimRequest, Integer> fences = new ConcurrentHashMap<>();

	DelegatingStore() {
		this(Clock.systemUTC());
	}

	DelegatingStore(InstantSource clock) {
		this.healthy = new InMemoryIdempotencyStore(clock);
	}

	@Override
	public String name() {
		return "defective";
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		return requests.stream().map((request) -> claim(request)).toList();
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		return endings.stream().map((ending) -> settle(ending)).toList();
	}

	Settlement settle(Ending ending) {
		if (ending instanceof Ending.Completed completed) {
			return complete(completed.claim(), completed.result());
		}
		return (ending instanceof Ending.Failed failed) ? fail(failed.claim(), failed.failure())
				: release(ending.claim());
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		return claims.stream().map((claim) -> renew(claim)).toList();
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		return keys.stream()
			.distinct()
			.map((key) -> find(key))
			.flatMap(Optional::stream)
			.collect(Collectors.toMap(IdempotencyRecord::key, Function.identity()));
	}

	Claim claim(ClaimRequest request) {
		Claim claim = one(this.healthy).claim(request);
		if (claim instanceof Claim.Acquired acquired) {
			this.owners.put(request.key(), request);
			this.fences.put(request, acquired.fence());
		}
		return claim;
	}

	// The last request that acquired the key, for stores that do not compare tokens.
	ClaimRequest owner(ClaimRequest claim) {
		ClaimRequest owner = this.owners.getOrDefault(claim.key(), claim);
		return new ClaimRequest(claim.key(), owner.token(), claim.fingerprint(), claim.lease(), claim.retention(),
				claim.version());
	}

	// For stores that check first and write later.
	boolean owns(ClaimRequest claim) {
		Integer fence = this.fences.get(claim);
		return fence != null && find(claim.key()).filter((record) -> record.fence() == fence).isPresent();
	}

	static ClaimRequest with(ClaimRequest claim, Duration lease, Duration retention) {
		return new ClaimRequest(claim.key(), claim.token(), claim.fingerprint(), lease, retention, claim.version());
	}

	Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return one(this.healthy).complete(claim, result);
	}

	Settlement fail(ClaimRequest claim, Failure failure) {
		return one(this.healthy).fail(claim, failure);
	}

	Settlement release(ClaimRequest claim) {
		return one(this.healthy).release(claim);
	}

	Settlement renew(ClaimRequest claim) {
		return one(this.healthy).renew(claim);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return this.healthy.restore(claim, acquired);
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return this.healthy.lookUp(request);
	}

	Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return one(this.healthy).find(key);
	}

	@Override
	public void ping() {
		this.healthy.ping();
	}

}
