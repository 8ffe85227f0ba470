/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.ResourceHolderSupport;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.TransactionResource;
import dev.idempotency.store.Claim;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * The completions of leased mode that wait for the outcome of the Spring transaction that
 * is active on this thread. They are recorded when it has committed, released when it has
 * been rolled back, also to a savepoint, and left to their leases when its outcome is
 * unknown. A transaction in which another owner has taken over one of the keys is not
 * committed.
 */
final class TransactionCompletions extends TransactionResource implements Deferral {

	private static final Log logger = LogFactory.getLog(TransactionCompletions.class);

	private final AsyncSettlements settlements;

	private final List<PendingCompletion> pending = new ArrayList<>();

	// The number of completions at each savepoint.
	private final Map<Object, Integer> savepoints = new IdentityHashMap<>();

	private boolean returned;

	private TransactionCompletions(AsyncSettlements settlements) {
		super(settlements);
		this.settlements = settlements;
	}

	static boolean isTransactionActive() {
		return TransactionSynchronizationManager.isSynchronizationActive()
				&& TransactionSynchronizationManager.isActualTransactionActive();
	}

	// Return the completions of the current transaction. One that has no synchronization,
	// such as that of a KafkaTransactionManager, is rejected: its outcome cannot be
	// observed.
	static @Nullable TransactionCompletions current(AsyncSettlements settlements) {
		if (TransactionSynchronizationManager.isSynchronizationActive()) {
			return isTransactionActive()
					? current(settlements, TransactionCompletions.class, () -> new TransactionCompletions(settlements))
					: null;
		}
		for (Object resource : TransactionSynchronizationManager.getResourceMap().values()) {
			if (resource instanceof ResourceHolderSupport holder && holder.isSynchronizedWithTransaction()) {
				throw new IllegalStateException("A transaction without synchronization is active on this thread ("
						+ holder.getClass().getSimpleName() + "), so an operation in leased mode cannot wait for its "
						+ "outcome. Use an @Idempotent listener in a container with the Kafka transaction, or call it "
						+ "outside of the transaction");
			}
		}
		return null;
	}

	@Override
	public void defer(PendingCompletion completion) {
		this.pending.add(completion);
	}

	@Override
	public Claim.@Nullable Completed find(IdempotentOperation operation) {
		return this.pending.stream()
			.map((completion) -> completion.find(operation))
			.filter(Objects::nonNull)
			.findFirst()
			.orElse(null);
	}

	@Override
	public void savepoint(Object savepoint) {
		this.savepoints.put(savepoint, this.pending.size());
	}

	// An unknown savepoint is older than the first completion.
	@Override
	public void savepointRollback(Object savepoint) {
		List<PendingCompletion> undone = this.pending.subList(this.savepoints.getOrDefault(savepoint, 0),
				this.pending.size());
		end(List.copyOf(undone), false);
		undone.clear();
	}

	// Also if the caller has caught the exception of an operation that is lost.
	@Override
	public void beforeCommit(boolean readOnly) {
		for (OwnedClaim claim : claims(this.pending)) {
			if (claim.ownershipLost()) {
				throw Settlements.logged(claim.lost(null));
			}
		}
	}

	@Override
	public void afterCommit() {
		this.returned = true;
	}

	// In a callback after the end of a transaction, a method can join it. Spring reports
	// an unknown outcome when that method has returned, and nothing more follows.
	@Override
	public void afterCompletion(int status) {
		unbind();
		switch ((this.returned && status == STATUS_UNKNOWN) ? STATUS_COMMITTED : status) {
			case STATUS_COMMITTED -> end(this.pending, true);
			case STATUS_ROLLED_BACK -> end(this.pending, false);
			default -> {
				this.pending.forEach(PendingCompletion::abandon);
				logger.warn("The outcome of the transaction of " + this.pending
						+ " is unknown. The keys are free when their leases have expired");
			}
		}
	}

	// This thread still holds the connection of the transaction.
	// If it waited for another one, all threads of an exhausted
	// pool would wait for each other until their leases expire.
	private void end(List<PendingCompletion> completions, boolean committed) {
		this.settlements.settle(claims(completions).stream().map(OwnedClaim::operation).toList(), committed,
				() -> completions.forEach((completion) -> end(completion, committed)));
	}

	// The others must not wait for an application that is restarted.
	private static void end(PendingCompletion completion, boolean committed) {
		try {
			if (committed) {
				completion.complete();
			}
			else {
				completion.release();
			}
		}
		catch (Throwable ex) {
			logger.error("The end of " + completion + " could not be recorded. It is retried", ex);
		}
	}

	private static List<OwnedClaim> claims(List<PendingCompletion> completions) {
		return completions.stream().flatMap((completion) -> completion.claims().stream()).toList();
	}

}
