/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import org.springframework.dao.DataAccessResourceFailureException;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;

import static dev.idempotency.contract.OneKey.one;
import static org.awaitility.Awaitility.await;

/**
 * Delegates to a real store, except for calls that a test lets fail.
 */
public final class UnreliableStore implements IdempotencyStore {

	private final IdempotencyStore store;

	private final Set<StoreCall> failing = ConcurrentHashMap.newKeySet();

	private final Set<StoreCall> contended = ConcurrentHashMap.newKeySet();

	private final Map<StoreCall, Consumer<ClaimRequest>> hooks = new ConcurrentHashMap<>();

	private volatile Consumer<ClaimRequest> afterClaim = (claim) -> {
	};

	private volatile Runnable afterCompletion = () -> {
	};

	private volatile Runnable beforeClaimAhead = () -> {
	};

	private volatile Consumer<ClaimRequest> beforeRestore = (claim) -> {
	};

	private volatile int mostKeys = Integer.MAX_VALUE;

	private volatile boolean oneByOne;

	private volatile boolean recordsShown;

	private volatile boolean pingFails;

	private final Set<StoreCall> garbled = ConcurrentHashMap.newKeySet();

	private final Set<StoreCall> deaf = ConcurrentHashMap.newKeySet();

	private final List<UUID> completions = new CopyOnWriteArrayList<>();

	private final Set<Thread> renewers = ConcurrentHashMap.newKeySet();

	private final List<List<IdempotencyKey>> renewals = new CopyOnWriteArrayList<>();

	public UnreliableStore(IdempotencyStore store) {
		this.store = store;
	}

	public void fail(StoreCall... calls) {
		this.failing.addAll(List.of(calls));
	}

	public void failPing(boolean fails) {
		this.pingFails = fails;
	}

	/**
	 * Let calls fail as if a concurrent transaction held the key.
	 * @param calls the calls
	 */
	public void contend(StoreCall... calls) {
		this.contended.addAll(List.of(calls));
	}

	/**
	 * Run a hook before a call.
	 * @param call the call
	 * @param hook the hook, which may throw
	 */
	public void before(StoreCall call, Consumer<ClaimRequest> hook) {
		this.hooks.put(call, hook);
	}

	/**
	 * Run a hook between a claim and its answer.
	 * @param hook the hook
	 */
	public void afterClaim(Consumer<ClaimRequest> hook) {
		this.afterClaim = hook;
	}

	/**
	 * Run a hook between completions and their answer.
	 * @param hook the hook
	 */
	public void afterCompletion(Runnable hook) {
		this.afterCompletion = hook;
	}

	/**
	 * Run a hook before a completion that claims another key.
	 * @param hook the hook
	 */
	public void beforeClaimAhead(Runnable hook) {
		this.beforeClaimAhead = hook;
	}

	/**
	 * Run a hook before a forgotten claim is restored.
	 * @param hook the hook
	 */
	public void beforeRestore(Consumer<ClaimRequest> hook) {
		this.beforeRestore = hook;
	}

	/**
	 * Let the first of some calls throw an Error.
	 * @param call the calls
	 */
	public void breakOnce(StoreCall call) {
		AtomicBoolean first = new AtomicBoolean(true);
		before(call, (claim) -> {
			if (first.getAndSet(false)) {
				throw new NoClassDefFoundError("as it were");
			}
		});
	}

	/**
	 * Let calls with more keys time out.
	 * @param keys the number of keys of the largest call that succeeds
	 */
	public void timeOutAbove(int keys) {
		this.mostKeys = keys;
	}

	private void checkSize(List<?> keys) {
		if (keys.size() > this.mostKeys) {
			throw new DataAccessResourceFailureException("No answer for " + keys.size() + " keys");
		}
	}

	/**
	 * Renew leases one by one.
	 */
	public void renewOneByOne() {
		this.oneByOne = true;
	}

	/**
	 * Let calls fail as if the value under the key were not a record.
	 * @param calls the calls
	 */
	public void garble(StoreCall... calls) {
		this.garbled.addAll(List.of(calls));
	}

	/**
	 * Let calls take effect and lose their answers.
	 * @param calls the calls
	 */
	public void loseAnswers(StoreCall... calls) {
		this.deaf.addAll(List.of(calls));
	}

	/**
	 * Let one kind of call work again.
	 * @param call the call
	 */
	public void recoverFrom(StoreCall call) {
		this.failing.remove(call);
	}

	public void recover() {
		this.failing.clear();
		this.deaf.clear();
		this.garbled.clear();
		this.hooks.clear();
		this.contended.clear();
	}

	/**
	 * Return the owner tokens of all completions, including failed ones.
	 * @return the tokens
	 */
	public List<UUID> completions() {
		return this.completions;
	}

	/**
	 * Return the number of leases of each call that renews.
	 * @return the sizes
	 */
	public List<Integer> renewals() {
		return this.renewals.stream().map(List::size).toList();
	}

	/**
	 * Return the keys of each call that renews.
	 * @return the keys
	 */
	public List<List<IdempotencyKey>> renewedKeys() {
		return this.renewals;
	}

	/**
	 * Wait until no renewal has begun for a while. One may be under way at the call.
	 * @param quiet how long none must begin
	 */
	public void awaitEndOfRenewals(Duration quiet) {
		AtomicInteger last = new AtomicInteger();
		await().during(quiet).until(() -> {
			int now = this.renewals.size();
			return last.getAndSet(now) == now;
		});
	}

	/**
	 * Return the threads that renewed leases.
	 * @return the threads
	 */
	public Set<Thread> renewers() {
		return this.renewers;
	}

	private IdempotencyStore store(StoreCall call, ClaimRequest claim) {
		this.hooks.getOrDefault(call, (request) -> {
		}).accept(claim);
		return store(call);
	}

	private IdempotencyStore store(StoreCall call) {
		if (this.failing.contains(call)) {
			throw new DataAccessResourceFailureException("No answer to " + call);
		}
		if (this.garbled.contains(call)) {
			throw new IdempotencyRecordUnreadableException("Not a record", null);
		}
		if (this.contended.contains(call)) {
			throw new OperationInProgressException("Contention", Duration.ofSeconds(1));
		}
		return this.store;
	}

	private <T> T answer(StoreCall call, T answer) {
		if (this.deaf.contains(call)) {
			throw new DataAccessResourceFailureException("The answer to " + call + " was lost");
		}
		return answer;
	}

	@Override
	public String name() {
		return "unreliable";
	}

	@Override
	public boolean supportsClaimAhead() {
		return this.store.supportsClaimAhead();
	}

	@Override
	public CompletionAndClaim completeAndClaim(Ending.Completed completion, ClaimRequest next) {
		this.beforeClaimAhead.run();
		this.completions.add(completion.claim().token());
		store(StoreCall.COMPLETE, completion.claim());
		CompletionAndClaim answer = store(StoreCall.CLAIM, next).completeAndClaim(completion, next);
		return answer(StoreCall.CLAIM, answer(StoreCall.COMPLETE, answer));
	}

	@Override
	public List<Claim> claim(List<ClaimRequest> requests) {
		checkSize(requests);
		requests.forEach((request) -> store(StoreCall.CLAIM, request));
		List<Claim> claims = answer(StoreCall.CLAIM, this.store.claim(requests));
		requests.forEach((request) -> this.afterClaim.accept(request));
		return claims;
	}

	@Override
	public List<Settlement> settle(List<Ending> endings) {
		if (!endings.stream().allMatch(Ending.Completed.class::isInstance)) {
			return endings.stream().map(this::settle).toList();
		}
		checkSize(endings);
		endings.forEach((ending) -> this.completions.add(ending.claim().token()));
		endings.forEach((ending) -> store(StoreCall.COMPLETE, ending.claim()));
		List<Settlement> settlements = answer(StoreCall.COMPLETE, this.store.settle(endings));
		this.afterCompletion.run();
		return settlements;
	}

	private Settlement settle(Ending ending) {
		StoreCall call = (ending instanceof Ending.Failed) ? StoreCall.FAIL : StoreCall.RELEASE;
		return one(store(call, ending.claim())).settle(ending);
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		this.beforeRestore.accept(claim);
		return this.store.restore(claim, acquired);
	}

	@Override
	public List<Settlement> renew(List<ClaimRequest> claims) {
		this.renewals.add(claims.stream().map(ClaimRequest::key).toList());
		this.renewers.add(Thread.currentThread());
		if (this.oneByOne) {
			return renewEach(claims);
		}
		checkSize(claims);
		claims.forEach((claim) -> store(StoreCall.RENEW, claim));
		return this.store.renew(claims);
	}

	private List<Settlement> renewEach(List<ClaimRequest> claims) {
		List<Settlement> answers = new ArrayList<>();
		RuntimeException failure = null;
		for (ClaimRequest claim : claims) {
			try {
				answers.add(one(store(StoreCall.RENEW, claim)).renew(claim));
			}
			catch (RuntimeException ex) {
				failure = (failure != null) ? failure : ex;
			}
		}
		if (failure != null) {
			throw failure;
		}
		return answers;
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return this.store.lookUp(request);
	}

	@Override
	public Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		return this.store.find(keys);
	}

	/**
	 * Offer the records to administrators. Their calls never fail.
	 */
	public void showRecords() {
		this.recordsShown = true;
	}

	@Override
	public Optional<IdempotencyRecords> records() {
		return this.recordsShown ? this.store.records() : Optional.empty();
	}

	@Override
	public void ping() {
		if (this.pingFails) {
			throw new DataAccessResourceFailureException("No answer to a ping");
		}
		this.store.ping();
	}

}
