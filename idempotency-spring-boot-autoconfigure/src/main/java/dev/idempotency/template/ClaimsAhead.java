/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.Mode;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Makes the claims ahead of all threads, and keeps those that are not used yet. A thread
 * that has made a claim may never come back, so a periodic task releases old ones.
 */
final class ClaimsAhead implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(ClaimsAhead.class);

	// A consumer uses its claim within milliseconds, unless its next record is not
	// delivered.
	private static final Duration UNUSED = Duration.ofSeconds(1);

	private final Engine engine;

	private final Settlements settlements;

	private final Map<UUID, Claimed> unused = new ConcurrentHashMap<>();

	private final PeriodicTask release;

	private volatile boolean closed;

	ClaimsAhead(Engine engine, Settlements settlements, ThreadFactory threads) {
		this.engine = engine;
		this.settlements = settlements;
		this.release = new PeriodicTask(this::releaseOld, threads);
	}

	// Return the next operation if it may be claimed ahead. A permission of the
	// circuit breaker is acquired then. Pending settlements are retried before a
	// claim, so while there are any, nothing is claimed ahead.
	@Nullable IdempotentOperation claimable(Supplier<@Nullable IdempotentOperation> next, IdempotentOperation current) {
		try {
			IdempotentOperation operation = next.get();
			// The claim of the same key has to see the completion.
			if (this.closed || operation == null || operation.mode() != Mode.LEASED
					|| operation.key().equals(current.key()) || !this.settlements.isEmpty()
					|| this.engine.cache().find(operation) != null) {
				return null;
			}
			this.release.runEvery(UNUSED);
			return this.engine.calls().circuit().tryAcquirePermission() ? operation : null;
		}
		catch (Throwable ex) {
			// The handler has run, so its completion must be recorded in any case.
			logger.debug("The next operation is not claimed ahead", ex);
			return null;
		}
	}

	@Nullable Claimed complete(OwnedClaim claim, IdempotentOperation next) {
		ClaimRequest request = next.newRequest();
		long since = System.nanoTime();
		Claim answer = this.settlements.completeAndClaim(claim, next, request);
		if (answer == null) {
			return null;
		}
		Claimed claimed = new Claimed(next, request, answer, since);
		if (answer instanceof Claim.Acquired) {
			this.unused.put(request.token(), claimed);
			if (this.closed) {
				release(claimed);
			}
			return claimed;
		}
		if (answer instanceof Claim.Completed completed) {
			this.engine.cache().add(next, completed.result());
		}
		return (answer instanceof Claim.Completed || answer instanceof Claim.Stale) ? claimed : null;
	}

	// Take a claim in order to use it. Another answer is used only for a short time, and
	// not after an eviction in this process, because an operator may evict the key while
	// its consumer is paused.
	boolean take(Claimed claimed) {
		return (claimed.claim() instanceof Claim.Acquired) ? remove(claimed)
				: !isOld(claimed, System.nanoTime()) && !this.engine.cache().isRemoved(claimed.operation().key());
	}

	private static boolean isOld(Claimed claimed, long now) {
		return now - claimed.since() > UNUSED.toNanos();
	}

	private boolean remove(Claimed claimed) {
		return this.unused.remove(claimed.request().token(), claimed);
	}

	// Release a claim, if there is one, unless it was taken or released. If that fails,
	// the claim expires with its lease.
	boolean release(@Nullable Claimed claimed) {
		if (claimed == null || !(claimed.claim() instanceof Claim.Acquired acquired) || !remove(claimed)) {
			return false;
		}
		OwnedClaim claim = new OwnedClaim(claimed.operation(), claimed.request(), acquired, claimed.since());
		// A delivery of the key on another thread waits for the release.
		this.settlements
			.queue(List.of(claimed.operation()), false,
					() -> this.settlements.settle(StoreCall.RELEASE, claimed.operation(), List.of(claim)))
			.run();
		return true;
	}

	private void releaseOld() {
		long now = System.nanoTime();
		this.unused.values().stream().filter((claimed) -> isOld(claimed, now)).forEach(this::release);
	}

	@Override
	public void close() {
		this.closed = true;
		this.release.close();
		this.unused.values().forEach(this::release);
	}

}
