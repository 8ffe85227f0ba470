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
import java.util.concurrent.ThreadFactory;
import java.util.stream.Collectors;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Renews the leases of the handlers that run in this process. One thread checks all
 * leases several times per lease, and renews in one batch those of which a third has
 * passed. A lease that cannot be renewed is retried at the next check.
 * <p>
 * An execution that has lost its key shows the loss in its {@link IdempotentExecution}
 * and is not renewed any more. A process that is paused renews nothing: it detects the
 * loss when it continues.
 */
final class Leases implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(Leases.class);

	// A lease is renewed after this fraction of its duration.
	private static final int RENEWAL = 3;

	private static final int CHECKS = 6;

	private final Engine engine;

	private final StoreCalls calls;

	private final PeriodicTask renewal;

	Leases(Engine engine, ThreadFactory threads) {
		this.engine = engine;
		this.calls = engine.calls();
		this.renewal = new PeriodicTask(this::renew, threads);
	}

	// Renew the lease of a claim until it is released. An earlier claim of the same
	// key in this process that has a lower fence is lost. Otherwise the store
	// decides at the next renewal: either the answer to this claim was late, or the
	// store has forgotten the earlier claim.
	void keep(OwnedClaim claim) {
		OwnedClaim other = this.engine.claims().put(claim);
		if (other != null && !other.isRunning()) {
			release(other);
		}
		else if (other != null && other.fence() < claim.fence() && release(other)) {
			lost(other);
		}
		try {
			// Duration.dividedBy computes with BigDecimal.
			this.renewal.runEvery(Duration.ofNanos(claim.request().lease().toNanos() / CHECKS));
		}
		catch (Error ex) {
			// The caller does not release a claim that is not kept.
			release(claim);
			throw ex;
		}
	}

	boolean release(OwnedClaim claim) {
		return this.engine.claims().remove(claim);
	}

	Settlement restore(OwnedClaim claim) {
		Settlement restored = this.calls.settle(StoreCall.RENEW, claim.operation(),
				() -> this.engine.store().restore(claim.request(), claim.claim()));
		if (restored == Settlement.SETTLED) {
			logger.warn("The idempotency store '" + this.calls.store() + "' had lost the claim of a running handler. "
					+ "The claim was restored: " + claim.operation()
					+ ". Check the eviction policy and the replication of the store");
		}
		return restored;
	}

	private void renew() {
		long now = System.nanoTime();
		if (this.engine.claims().all().noneMatch((claim) -> claim.hasPassed(now, RENEWAL))) {
			return;
		}
		// Leases that are almost due are renewed too,
		// so that all are due together next time.
		Map<Boolean, List<OwnedClaim>> due = this.engine.claims()
			.all()
			.filter((claim) -> claim.hasPassed(now, CHECKS))
			.collect(Collectors.partitioningBy(OwnedClaim::isRenewedAlone));
		StoreCalls.parts(due.getOrDefault(false, List.of())).forEach((part) -> renewTogether(part, now));
		renewEach(due.getOrDefault(true, List.of()), now);
	}

	private void renewTogether(List<OwnedClaim> due, long now) {
		List<ClaimRequest> claims = due.stream().map(OwnedClaim::request).toList();
		List<Settlement> answers;
		try {
			answers = this.calls.call(StoreCall.RENEW, claims.size() + " running handlers",
					() -> StoreCalls.answers(claims, this.engine.store().renew(claims)));
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException
				| IdempotencyStoreRefusedException ex) {
			logger.debug("One of several leases cannot be renewed now; each is renewed separately", ex);
			renewEach(due, now);
			return;
		}
		catch (OperationBlockedException ex) {
			logger.debug("Leases could not be renewed; the next check retries them", ex);
			return;
		}
		for (int i = 0; i < answers.size(); i++) {
			renewed(due.get(i), answers.get(i), now);
		}
	}

	// A claim that is locked or unreadable is renewed separately from now on, so that it
	// delays the others only once. Each of them may wait for a lock: those for which no
	// time is left are renewed at the next check.
	private void renewEach(List<OwnedClaim> due, long now) {
		long shortest = due.stream().mapToLong((claim) -> claim.request().lease().toNanos()).min().orElse(0);
		for (OwnedClaim claim : due) {
			try {
				renewed(claim, this.calls.call(StoreCall.RENEW, claim.operation(),
						() -> this.engine.store().renew(List.of(claim.request())).get(0)), now);
				claim.setRenewedAlone(false);
			}
			catch (OperationInProgressException | IdempotencyRecordUnreadableException
					| IdempotencyStoreRefusedException ex) {
				claim.setRenewedAlone(true);
				logger.debug("A lease could not be renewed; the next check retries it", ex);
			}
			catch (OperationBlockedException ex) {
				logger.debug("A lease could not be renewed; the next check retries it", ex);
				return;
			}
			if (System.nanoTime() - now > shortest / RENEWAL) {
				return;
			}
		}
	}

	private void renewed(OwnedClaim claim, Settlement answer, long now) {
		Settlement settlement = answer;
		if (answer == Settlement.FORGOTTEN) {
			if (!claim.isWorthRestoring()) {
				return;
			}
			claim.setRestored(true);
			try {
				settlement = restore(claim);
				if (settlement == Settlement.SETTLED && !claim.isWorthRestoring()) {
					releaseRestored(claim);
					return;
				}
			}
			catch (OperationBlockedException ex) {
				logger.debug("A lease could not be renewed; the next check retries it", ex);
				return;
			}
			finally {
				// Then its settlement comes after the restoration.
				claim.setRestored(!claim.isRunning());
			}
		}
		if (settlement == Settlement.SETTLED) {
			claim.markRenewed(now);
		}
		// While the claim is being settled, the answer to the settlement decides.
		else if (claim.isRunning() && release(claim)) {
			lost(claim);
		}
	}

	// The handler has ended while the claim was restored, and the store did not know the
	// key when the failure was recorded, or an operator has evicted the completed key.
	void releaseRestored(OwnedClaim claim) {
		try {
			this.calls.settle(StoreCall.RELEASE, claim.operation(),
					() -> this.engine.store().settle(List.of(new Ending.Released(claim.request()))));
		}
		catch (OperationBlockedException ex) {
			logger.warn("The claim of a handler that has ended was restored and could not be released: "
					+ claim.operation() + ". The key is free when its lease has expired", ex);
		}
	}

	private static void lost(OwnedClaim claim) {
		claim.end(Settlement.LOST);
		logger.warn(claim.loss() + ". This execution can no longer record its outcome");
	}

	// Stop the renewal. Handlers that still run keep the rest of their leases.
	@Override
	public void close() {
		this.renewal.close();
		long running = this.engine.claims().all().count();
		if (running > 0) {
			logger.warn(running + " idempotent handlers are still running at shutdown. Their keys are free when "
					+ "their leases have expired");
		}
	}

}
