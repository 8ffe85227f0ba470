/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

import org.pastalab.fray.runtime.Runtime;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * The store as one process sees it. Each call is atomic. Another thread may run before
 * its effect and between its effect and its answer, and the seed decides its fault.
 */
final class UnreliableStore implements IdempotencyStore {

	private final SharedStore shared;

	private final History history;

	private final Faults faults;

	private final String process;

	UnreliableStore(SharedStore shared, History history, Faults faults, String process) {
		this.shared = shared;
		this.history = history;
		this.faults = faults;
		this.process = process;
	}

	@Override
	public String name() {
		return this.process;
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		return callEach(StoreCall.CLAIM, requests, ClaimRequest::key, this::claimNow);
	}

	private List<Claim> claimNow(List<ClaimRequest> requests) {
		return requests.stream().map((request) -> {
			this.history.claiming(request, this.shared.find(request.key()), this.shared.now());
			Claim claim = this.shared.store().claim(List.of(request)).get(0);
			if (claim instanceof Claim.Acquired acquired) {
				this.history.acquired(this.process, request, acquired);
			}
			return claim;
		}).toList();
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		List<Settlement> settlements = callEach(call(endings.get(0)), endings, (ending) -> ending.claim().key(),
				this::settleNow);
		for (int i = 0; i < settlements.size(); i++) {
			if (endings.get(i) instanceof Ending.Completed) {
				this.history.completionAnswered(endings.get(i).claim(), settlements.get(i));
			}
		}
		return settlements;
	}

	private static StoreCall call(Ending ending) {
		return (ending instanceof Ending.Completed) ? StoreCall.COMPLETE
				: (ending instanceof Ending.Failed) ? StoreCall.FAIL : StoreCall.RELEASE;
	}

	private List<Settlement> settleNow(List<? extends Ending> endings) {
		return endings.stream().map((ending) -> {
			ClaimRequest claim = ending.claim();
			IdempotencyRecord before = this.shared.find(claim.key());
			Settlement settlement = this.shared.store().settle(List.of(ending)).get(0);
			this.history.settled(call(ending), claim, settlement, before, this.shared.find(claim.key()));
			return settlement;
		}).toList();
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		return callEach(StoreCall.RENEW, claims, ClaimRequest::key, (part) -> this.shared.store().renew(part));
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return call(StoreCall.RENEW, List.of(claim.key()), () -> {
			IdempotencyRecord before = this.shared.find(claim.key());
			Settlement settlement = this.shared.store().restore(claim, acquired);
			this.history.restored(claim, settlement, before);
			return settlement;
		});
	}

	@Override
	public boolean supportsClaimAhead() {
		return true;
	}

	@Override
	public CompletionAndClaim completeAndClaim(Ending.Completed completion, ClaimRequest next) {
		CompletionAndClaim answer = call(StoreCall.COMPLETE, List.of(completion.claim().key(), next.key()), () -> {
			Settlement settlement = settleNow(List.of(completion)).get(0);
			return new CompletionAndClaim(settlement,
					(settlement == Settlement.SETTLED) ? claimNow(List.of(next)).get(0) : null);
		});
		this.history.completionAnswered(completion.claim(), answer.settlement());
		return answer;
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return this.shared.store().lookUp(request);
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		return this.shared.store().find(keys);
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return Optional.of(new ObservedRecords(this.shared, this.history));
	}

	@Override
	public void ping() {
	}

	// A store that refuses a call for several keys may have done a part of it.
	private <T, R> List<R> callEach(StoreCall call, List<T> elements, Function<T, IdempotencyKey> key,
			Function<List<T>, List<R>> effect) {
		return call(call, elements.stream().map(key).toList(), () -> effect.apply(elements),
				() -> effect.apply(elements.subList(0, elements.size() / 2)));
	}

	private <T> T call(StoreCall call, List<IdempotencyKey> keys, Supplier<T> effect) {
		return call(call, keys, effect, () -> null);
	}

	private <T> T call(StoreCall call, List<IdempotencyKey> keys, Supplier<T> effect, Supplier<?> part) {
		Fault fault = this.faults.next(call);
		if (fault == Fault.DELAY) {
			sleep();
		}
		Thread.yield();
		T answer = atomically(() -> {
			this.history.called(this.process, call, keys, fault);
			if (fault == Fault.EVICTION) {
				keys.forEach(this::evict);
			}
			if (fault == Fault.REFUSAL || fault == Fault.CONTENTION) {
				part.get();
			}
			return isDone(fault) ? effect.get() : null;
		});
		Thread.yield();
		switch (fault) {
			case NO_EFFECT, LOST_ANSWER ->
				throw new IdempotencyStoreUnavailableException("The scenario has lost the answer", null);
			case REFUSAL -> throw new IdempotencyStoreRefusedException("The scenario refuses the call", null);
			case CONTENTION -> throw new OperationInProgressException("The scenario holds the key", Duration.ZERO);
			case ERROR, LATE_ERROR -> throw new NoClassDefFoundError("The scenario");
			case LATE_ANSWER -> sleep();
			default -> {
			}
		}
		return answer;
	}

	private static boolean isDone(Fault fault) {
		return switch (fault) {
			case NO_EFFECT, REFUSAL, CONTENTION, ERROR -> false;
			default -> true;
		};
	}

	private void evict(IdempotencyKey key) {
		this.shared.store().records().orElseThrow().evict(key, true);
		this.history.forgotten(key);
	}

	private void sleep() {
		World.sleep(this.faults.delay());
	}

	private <T> T atomically(Supplier<T> action) {
		// The clock is not virtual while scheduling is switched off.
		this.shared.setNow(Instant.ofEpochMilli(System.currentTimeMillis()));
		return withoutScheduling(action);
	}

	static <T> T withoutScheduling(Supplier<T> action) {
		Runtime.onSkipPrimitive("store");
		try {
			return action.get();
		}
		finally {
			Runtime.onSkipPrimitiveDone("store");
		}
	}

}
