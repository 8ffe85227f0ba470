/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * The protocol of {@link Mode#LEASED} for one delivery of a batch, or of a record as a
 * batch of one: one call of the store claims the keys, one completes them.
 * <ol>
 * <li>claim each key whose completion is not known locally;</li>
 * <li>release the claims of items that must not run yet, because an earlier item of their
 * lane is blocked;</li>
 * <li>run the handler with the others, while their leases are renewed;</li>
 * <li>complete them with their owner tokens: at once, when an asynchronous handler has
 * ended, when the transaction of the caller has ended, or when the handler no longer
 * defers them. {@link ClaimAhead} may claim the key of the next operation with the
 * completion. If the handler failed at one item, complete those before it, fail that one
 * and release the others. If the failed item is unknown, fail all of them.</li>
 * </ol>
 */
final class LeasedProtocol {

	private static final Log logger = LogFactory.getLog(LeasedProtocol.class);

	private final Engine engine;

	private final Settlements settlements;

	private final BatchRun run;

	private final BatchPlan plan;

	private final boolean isProtected;

	// The transaction of the caller, unless the boundary has another receiver.
	private final @Nullable Deferral deferral;

	// Its transaction is rolled back unless all items can be run, and succeed.
	private final boolean allOrNothing;

	private final @Nullable ClaimAhead ahead;

	// Without a boundary, the handler runs without protection.
	LeasedProtocol(Engine engine, Settlements settlements, AsyncSettlements asynchronous, BatchRun run,
			@Nullable TransactionBoundary boundary, @Nullable ClaimAhead ahead) {
		this.engine = engine;
		this.settlements = settlements;
		this.run = run;
		this.plan = run.plan();
		this.isProtected = boundary != null;
		Deferral receiver = (boundary != null) ? boundary.deferral() : null;
		this.allOrNothing = receiver != null;
		this.deferral = (receiver != null || !this.isProtected) ? receiver
				: TransactionCompletions.current(asynchronous);
		this.ahead = ahead;
	}

	void execute() {
		if (this.isProtected) {
			for (Item item : this.plan.unanswered()) {
				item.setClaim(known(item.index(), item.operation()));
			}
		}
		try {
			boolean again = true;
			while (again) {
				again = executeOnce();
			}
		}
		finally {
			leave(this.plan.items());
		}
	}

	private Claim.@Nullable Completed known(int index, IdempotentOperation operation) {
		Claim.Completed known = (this.deferral != null) ? this.deferral.find(operation) : null;
		return (known != null) ? known : this.run.handler().known(index, operation);
	}

	// Returns null if the operation is blocked or rejected, or if its handler has failed
	// before it returned a stage.
	@Nullable CompletableFuture<IdempotentResult<Object>> executeAsync(AsyncSettlements asynchronous) {
		try {
			if (this.isProtected) {
				claim();
			}
			this.plan.decide();
			List<Item> due = this.plan.stillDue();
			if (!due.isEmpty()) {
				return runAsync(due, asynchronous);
			}
			IdempotentResult<Object> known = this.plan.first().result();
			return (known != null) ? CompletableFuture.completedFuture(known) : null;
		}
		finally {
			leave(this.plan.items());
		}
	}

	// The value of an asynchronous handler is a stage.
	@SuppressWarnings("unchecked")
	private @Nullable CompletableFuture<IdempotentResult<Object>> runAsync(List<Item> due,
			AsyncSettlements asynchronous) {
		Item item = due.get(0);
		try {
			this.run.run(due, Item::owned);
		}
		catch (Throwable ex) {
			failed(due, ex);
			return null;
		}
		CompletionStage<Object> stage = (CompletionStage<Object>) Objects.requireNonNull(item.value());
		if (!this.isProtected) {
			return AsyncSettlements.unprotected(stage);
		}
		CompletableFuture<IdempotentResult<Object>> future = asynchronous.settle(stage, claim(item),
				(value) -> this.run.write(item, value));
		item.setOwned(null);
		return future;
	}

	// Returns whether more is to be run, such as a lower version of a key because the
	// highest one of the batch was rejected or has failed.
	private boolean executeOnce() {
		if (this.isProtected) {
			claim();
		}
		this.plan.decide();
		if (this.allOrNothing && this.plan.isIncomplete()) {
			// The transaction is rolled back for the
			// items that are blocked or rejected.
			release(this.plan.items());
			return false;
		}
		List<Item> surplus = this.plan.surplus();
		release(surplus);
		if (this.isProtected && !this.plan.unanswered().isEmpty()) {
			leave(surplus);
			return true;
		}
		List<Item> due = this.plan.stillDue();
		if (due.isEmpty()) {
			return false;
		}
		run(due);
		if (this.allOrNothing || (this.isProtected && this.plan.unanswered().isEmpty())) {
			return false;
		}
		leave(this.plan.items());
		return true;
	}

	private void leave(List<Item> items) {
		for (Item item : owned(items)) {
			this.settlements.leave(claim(item));
			item.setOwned(null);
		}
	}

	private void claim() {
		List<Item> asked = withoutPending(this.plan.unanswered());
		Claimed taken = (this.ahead != null && !asked.isEmpty()) ? this.ahead.take(asked.get(0).operation()) : null;
		if (taken != null) {
			asked.get(0).setClaim(taken.claim());
			answered(asked.get(0), taken.request(), taken.since());
			return;
		}
		for (int from = 0; from < asked.size(); from += StoreCalls.MAX_KEYS) {
			try {
				claim(StoreCalls.part(asked, from));
			}
			catch (IdempotencyStoreUnavailableException ex) {
				if (owned(this.plan.items()).isEmpty()) {
					throw ex;
				}
				// The items that are claimed run, so that each delivery makes progress.
				asked.subList(from, asked.size()).forEach((item) -> item.setClaimFailure(ex));
				return;
			}
		}
	}

	private void claim(List<Item> items) {
		items.forEach(Item::newRequest);
		long start = System.nanoTime();
		Object subject = this.run.subject(items);
		this.engine.calls().permit(subject);
		try {
			claim(items, subject);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// The store may have recorded the claims although its answer is missing.
			releaseLater(items);
			throw ex;
		}
		for (Item item : items) {
			answered(item, item.request(), start);
		}
	}

	private void answered(Item item, ClaimRequest request, long since) {
		if (item.claim() instanceof Claim.Completed completed && !completed.otherContent()) {
			this.engine.cache().add(item.operation(), completed.result());
		}
		else if (item.claim() instanceof Claim.Acquired acquired) {
			item.setOwned(this.settlements.keep(item.operation(), request, acquired, since));
		}
	}

	private List<Item> withoutPending(List<Item> items) {
		if (this.settlements.isEmpty()) {
			return items;
		}
		List<Item> others = new ArrayList<>(items);
		others.removeIf((item) -> {
			try {
				this.settlements.settlePending(item.operation(), this.run::markStarted);
				return false;
			}
			catch (IdempotencyStoreUnavailableException ex) {
				throw ex;
			}
			catch (OperationBlockedException ex) {
				item.setClaimFailure(ex);
				return true;
			}
		});
		return others;
	}

	private void claim(List<Item> items, Object subject) {
		try {
			BatchPlan.setClaims(items, claimAll(subject, items));
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException
				| IdempotencyStoreRefusedException ex) {
			if (items.size() == 1) {
				items.get(0).setClaimFailure(ex);
				releaseUncertain(items);
				return;
			}
			List<Item> unclaimed = claimEach(items);
			releaseUncertain(items);
			if (ex instanceof IdempotencyStoreRefusedException) {
				releaseOnce(unclaimed, subject);
			}
			else {
				releaseLater(unclaimed);
			}
		}
	}

	// A concurrent transaction locks one of the keys, or the store refuses one, and the
	// store does not name it. Only that item and the later ones of its lane are blocked.
	// Returns both, which the failed call for all keys may have claimed.
	private List<Item> claimEach(List<Item> items) {
		List<Item> unclaimed = new ArrayList<>();
		for (Item item : items) {
			boolean asked = this.plan.claimOne(item, () -> {
				this.engine.calls().permit(item.operation());
				return claimAll(item.operation(), List.of(item)).get(0);
			});
			if (!asked) {
				item.leaveOut(null);
			}
			if (!asked || item.claimFailure() != null) {
				unclaimed.add(item);
			}
		}
		return unclaimed;
	}

	// After an Error of the store, its claims may have succeeded.
	private void releaseUncertain(List<Item> items) {
		releaseLater(StoreCalls.some(items, (item) -> {
			OperationBlockedException failure = item.claimFailure();
			return failure != null && failure.getCause() instanceof Error;
		}));
	}

	private List<Claim> claimAll(Object subject, List<Item> items) {
		return StoreCalls.claim(items, (requests) -> StoreCalls.inParts(requests, (part) -> this.engine.calls()
			.call(StoreCall.CLAIM, subject, () -> StoreCalls.answers(part, this.engine.store().claim(part)))));
	}

	private void releaseLater(List<Item> items) {
		items.forEach((item) -> this.settlements.releaseLater(item.operation(), item.request()));
	}

	// Without a retry: a store that refuses the release as well may do so for hours.
	private void releaseOnce(List<Item> items, Object subject) {
		if (items.isEmpty()) {
			return;
		}
		List<Ending> releases = StoreCalls.each(items, (item) -> new Ending.Released(item.request()));
		try {
			this.engine.calls().call(StoreCall.RELEASE, subject, () -> this.engine.store().settle(releases));
		}
		catch (OperationBlockedException ex) {
			logger.debug("Claims were not released; their keys are free when their leases have expired", ex);
		}
	}

	private void run(List<Item> due) {
		try {
			this.run.run(due, Item::owned);
		}
		catch (Throwable ex) {
			failed(due, ex);
			return;
		}
		int now = (this.deferral != null) ? due.size() : this.run.completed(due.size());
		if (now == due.size()) {
			complete(due);
			return;
		}
		List<Item> first = due.subList(0, now);
		List<Item> later = due.subList(now, due.size());
		complete(first);
		if (first.stream().noneMatch(Item::isBlocked)) {
			deferEach(later);
		}
		else {
			// They are redelivered behind the blocked item, and must not run again.
			complete(later);
		}
	}

	private void failed(List<Item> due, Throwable error) {
		int position = this.run.failedAt(due, error);
		OperationBlockedException blocked = OperationBlockedException.in(error);
		int done = (position >= 0) ? position : this.run.finished();
		List<Item> rest = due.subList(done, due.size());
		// Without a position, the handler has failed at all of them.
		List<Item> failed = (position < 0) ? rest : rest.subList(0, 1);
		List<Item> ended = (blocked != null) ? rest : failed;
		endBefore(due.subList(0, done), error);
		if (blocked != null) {
			failed.forEach((item) -> item.undone(blocked));
		}
		fail(ended, error);
		undoLost(failed, error);
		if (blocked == null) {
			this.plan.fail((position < 0) ? null : due.get(position), error);
		}
		release(rest.subList(ended.size(), rest.size()));
	}

	private void endBefore(List<Item> before, Throwable error) {
		// After a negative acknowledgment the container commits the transaction.
		if (this.allOrNothing && !(error instanceof NackedException)) {
			// Their effects are rolled back with the transaction.
			release(before);
		}
		else {
			complete(before);
		}
	}

	private void complete(List<Item> done) {
		List<Item> mine = done(done);
		if (mine.isEmpty()) {
			return;
		}
		if (this.deferral != null && this.deferral.isNeeded()) {
			defer(this.deferral, mine);
			return;
		}
		List<OwnedClaim> claims = claims(mine);
		try {
			if (this.ahead == null || this.deferral != null || !this.ahead.complete(claims.get(0))) {
				this.settlements.settle(StoreCall.COMPLETE, this.run.subject(mine), claims);
			}
			undoLost(mine, null);
		}
		catch (OperationBlockedException ex) {
			mine.forEach((item) -> item.undone(ex));
		}
		catch (Throwable ex) {
			this.settlements.retryUnnoted(claims);
			throw ex;
		}
	}

	// The output of an item that another owner has taken over must not be committed. Its
	// claim is deferred with the others, so that the commit is refused even if the caller
	// ignores the loss, and no key is free before its effect is rolled back. A single
	// operation whose transaction is not that of the caller ends with the exception.
	private void defer(Deferral receiver, List<Item> mine) {
		List<Item> held = new ArrayList<>(mine);
		held.removeIf((item) -> claim(item).ownershipLost());
		mine.stream().filter((item) -> !held.contains(item)).forEach((item) -> lost(item, null));
		if (held.isEmpty() && this.run.isSingle() && this.allOrNothing) {
			return;
		}
		List<OwnedClaim> claims = claims(mine);
		mine.forEach((item) -> item.setOwned(null));
		receiver.defer(new PendingCompletion(this.settlements, claims, this.run.deferReport(held)));
	}

	// A loss of ownership shows when the completion is recorded.
	private void deferEach(List<Item> done) {
		List<Item> mine = done(done);
		if (!mine.isEmpty()) {
			this.run.handler()
				.defer(mine.stream().map(Item::index).toList(),
						mine.stream()
							.map((item) -> new PendingCompletion(this.settlements, claims(List.of(item)),
									this.run.deferReport(List.of(item))))
							.toList());
			mine.forEach((item) -> item.setOwned(null));
		}
	}

	// Returns those of the items that have a claim.
	private List<Item> done(List<Item> done) {
		for (Item item : done) {
			OwnedClaim claim = item.owned();
			if (claim != null) {
				claim.setResult(this.run.write(item, item.value()));
			}
			item.done();
		}
		return owned(done);
	}

	private void fail(List<Item> failed, Throwable error) {
		List<Item> mine = owned(failed);
		if (!mine.isEmpty()) {
			this.settlements.fail(this.run.subject(mine), claims(mine), error);
		}
	}

	private void release(List<Item> items) {
		List<Item> mine = owned(items);
		if (!mine.isEmpty()) {
			this.settlements.settle(StoreCall.RELEASE, this.run.subject(mine), claims(mine));
		}
	}

	private static List<Item> owned(List<Item> items) {
		return StoreCalls.some(items, (item) -> item.owned() != null);
	}

	private static List<OwnedClaim> claims(List<Item> mine) {
		return StoreCalls.each(mine, LeasedProtocol::claim);
	}

	private static OwnedClaim claim(Item item) {
		return Objects.requireNonNull(item.owned());
	}

	private void undoLost(List<Item> items, @Nullable Throwable error) {
		for (Item item : owned(items)) {
			if (claim(item).isLost()) {
				lost(item, error);
				refuseCommit(item);
			}
		}
	}

	// The caller may catch the exception, and commit what the handler has written.
	private void refuseCommit(Item item) {
		if (this.deferral != null && !this.allOrNothing) {
			claim(item).loseOwnership();
			this.deferral
				.defer(new PendingCompletion(this.settlements, claims(List.of(item)), this.run.deferReport(List.of())));
			item.setOwned(null);
		}
	}

	private static void lost(Item item, @Nullable Throwable error) {
		item.undone(Settlements.logged(claim(item).lost(error)));
	}

}
