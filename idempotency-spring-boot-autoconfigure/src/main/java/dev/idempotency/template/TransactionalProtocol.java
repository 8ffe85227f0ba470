/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionStatus;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.template.TransactionalClaims.Claimed;

/**
 * The protocol of {@link Mode#TRANSACTIONAL} for one delivery of a batch, or of a record
 * as a batch of one:
 * <ol>
 * <li>begin a transaction, and insert the records of the whole batch with one statement.
 * The row locks make concurrent duplicates wait. Only a single operation may join a
 * transaction of the caller, who rolls it back;</li>
 * <li>if a record exists, roll back, begin a new transaction, and take the record over or
 * replay its result;</li>
 * <li>run the handler, add its results with one statement at most, commit: the records
 * and the handler's writes are stored together or not at all;</li>
 * <li>if the handler or the commit failed, roll back and note the failure in a separate
 * transaction. If that fails too, the database is down, and the record is redelivered. If
 * the record is found completed, the commit had succeeded, or the handler has committed
 * the transaction itself: then the completion is undone.</li>
 * </ol>
 * Claims of items that do not run, because an earlier item is blocked or because the
 * handler failed, are rolled back with their transaction. The other items are claimed in
 * a new one. When the handler names the item at which it failed, the items before it run
 * once more, without that item, and are committed. An operation that is recognized by its
 * offset has a mark instead of a record, see {@link OffsetClaims}.
 */
final class TransactionalProtocol {

	private static final String JOINED = "A batch cannot join a transaction, because it may have to roll it back. "
			+ "Call it outside of the transaction, or use a propagation that begins a new one";

	private final Parts parts;

	private final Transactions transactions;

	private final BatchRun run;

	private final BatchPlan plan;

	private final TransactionBoundary boundary;

	private final RecordClaims records;

	private final OffsetClaims offsets;

	private final List<TransactionalClaims> claims;

	// The declined items that are recognized by their offsets.
	private final List<Item> declinedPositions = new ArrayList<>();

	TransactionalProtocol(Parts parts, BatchRun run, TransactionBoundary boundary) {
		this.parts = parts;
		this.transactions = parts.transactions();
		this.run = run;
		this.plan = run.plan();
		this.boundary = boundary;
		this.records = new RecordClaims(parts.engine(), parts.store(), run);
		this.offsets = new OffsetClaims(parts, run);
		this.claims = List.of(this.records, this.offsets);
	}

	void execute(boolean isProtected) {
		this.plan.awaitClaims(isProtected);
		if (isProtected) {
			// A claim in an earlier transaction of the caller may have to be undone
			// first.
			for (Item item : this.plan.unanswered()) {
				this.parts.settlements().awaitQueued(item.operation().key());
			}
			this.offsets.identify(this.plan.unanswered());
		}
		try {
			do {
				this.plan.decide();
			}
			while (!this.plan.due().isEmpty() && executeOnce(isProtected));
		}
		catch (OperationBlockedException ex) {
			this.declinedPositions.forEach((item) -> item.undone(ex));
			throw ex;
		}
		// The mark must not pass the items before a declined one, which run after it.
		Map<Boolean, List<Item>> done = this.declinedPositions.stream()
			.collect(Collectors.partitioningBy(this.plan::isDoneInLane));
		done.getOrDefault(false, List.of()).forEach(Item::withdraw);
		completeWithoutEffect(done.getOrDefault(true, List.of()), done.getOrDefault(true, List.of()));
	}

	// Returns whether a further transaction is needed.
	private boolean executeOnce(boolean isProtected) {
		TransactionStatus transaction = claim(isProtected ? this.plan.unanswered() : List.of());
		this.transactions.orRollback(transaction, () -> {
			this.plan.decide();
			return transaction;
		});
		List<Item> due = this.plan.due();
		if (due.isEmpty() || !this.plan.surplus().isEmpty() || (isProtected && !this.plan.unanswered().isEmpty())) {
			this.transactions.rollbackOwn(transaction, null);
			this.plan.unclaim();
			return !due.isEmpty();
		}
		return run(due, transaction);
	}

	private TransactionStatus claim(List<Item> unanswered) {
		Object subject = this.run.subject(this.plan.due());
		if (unanswered.isEmpty()) {
			TransactionStatus transaction = this.transactions.beginUnprotected(subject, this.boundary.definition());
			Assert.state(this.run.isSingle() || transaction.isNewTransaction(), JOINED);
			return transaction;
		}
		this.claims.forEach((kind) -> kind.ask(unanswered));
		TransactionStatus transaction = this.transactions.beginFirst(subject, this.boundary.definition());
		boolean joined = !transaction.isNewTransaction();
		if (joined && !this.run.isSingle()) {
			this.parts.engine().calls().circuit().releasePermission();
			throw new IllegalStateException(JOINED);
		}
		try {
			if (!this.records.claim(joined, !joined)) {
				// The rollback also restores the lock timeout of the transaction.
				this.transactions.rollback(transaction, null);
				transaction = this.transactions.begin(subject, this.boundary.definition());
				this.records.claim(false, false);
			}
			this.offsets.claim(joined, false);
			return transaction;
		}
		catch (OperationInProgressException | IdempotencyStoreRefusedException ex) {
			this.transactions.rollbackOwn(transaction, ex);
			if (this.plan.items().size() == 1) {
				throw ex;
			}
			return claimEach(subject);
		}
		catch (Throwable ex) {
			this.transactions.rollbackOwn(transaction, ex);
			throw ex;
		}
	}

	// A concurrent transaction locks one of the keys, or the store refuses one, and the
	// store does not name it. Only that item and the later ones of its lane are blocked.
	// A transaction that may contain the claim of a blocked item is not committed: no
	// item has a claim then, and the others are claimed again.
	private TransactionStatus claimEach(Object subject) {
		TransactionStatus transaction = this.transactions.begin(subject, this.boundary.definition());
		return this.transactions.orRollback(transaction, () -> {
			if (!this.records.claimEach() || !this.offsets.claimEach()) {
				this.plan.unclaim();
			}
			return transaction;
		});
	}

	private boolean run(List<Item> due, TransactionStatus transaction) {
		boolean joined = !transaction.isNewTransaction();
		boolean withoutEffect;
		try {
			this.run.run(due, TransactionalProtocol::execution);
			for (Item item : RecordClaims.recorded(due)) {
				item.setWritten(this.run.write(item, item.value()));
			}
			// The handler may request a rollback of its own transaction.
			withoutEffect = !joined
					&& (this.boundary.rollbackOnly().getAsBoolean() || due.get(0).value() instanceof Declined);
			if (!withoutEffect) {
				this.transactions.commit(transaction, this.run.subject(due), () -> this.records.store(due));
			}
		}
		catch (Throwable ex) {
			if (!(ex instanceof OperationBlockedException)) {
				// An exception of the commit may have a blocked cause.
				this.run.addThrown(ex);
			}
			boolean inDoubt = Transactions.isInDoubt(transaction, ex);
			this.transactions.rollback(transaction, ex);
			if (joined) {
				settleAfterRollback(due, ex);
				return handleFailure(due, ex, false, false);
			}
			return failed(due, ex, inDoubt);
		}
		if (joined) {
			settleAfterRollback(due, null);
		}
		if (withoutEffect) {
			this.transactions.rollback(transaction, null);
			if (!completeWithoutEffect(due, due)) {
				return !this.plan.unanswered().isEmpty();
			}
		}
		if (!joined) {
			RecordClaims.recorded(due)
				.forEach((item) -> this.parts.engine().cache().add(item.operation(), item.written()));
		}
		due.forEach(Item::done);
		return false;
	}

	private static @Nullable IdempotentExecution execution(Item item) {
		return (item.claim() instanceof Claim.Acquired acquired)
				? new ClaimedExecution(item.operation().key(), acquired) : null;
	}

	private List<Claimed> claimed(List<Item> items) {
		return this.claims.stream().map((kind) -> kind.claimed(items)).filter((claimed) -> !claimed.isEmpty()).toList();
	}

	private void settleAfterRollback(List<Item> due, @Nullable Throwable error) {
		List<Claimed> claimed = claimed(due);
		if (claimed.isEmpty()) {
			return;
		}
		boolean failed = error != null && Outcomes.isFailure(error);
		this.transactions.settleAfterRollback(due.get(0).operation(), failed, (inDoubt) -> {
			if (failed) {
				noteFailures(claimed, claimed, Objects.requireNonNull(error), inDoubt);
			}
			else {
				undo(claimed, error);
			}
		});
	}

	// The handler requested a rollback of its writes and returned: the operations are
	// done. If that cannot be recorded, items are undone, and if another delivery has
	// completed one of them meanwhile, all are claimed again. Returns whether it is
	// recorded.
	private boolean completeWithoutEffect(List<Item> done, List<Item> undone) {
		if (done.stream().allMatch((item) -> item.claim() == null)) {
			return true;
		}
		try {
			this.transactions.completeWithoutEffect(this.run.subject(done), this.boundary.definition(),
					() -> this.claims.forEach((kind) -> kind.completeWithoutEffect(done)));
			return true;
		}
		catch (OperationLostException ex) {
			this.plan.unclaim();
			return false;
		}
		catch (OperationBlockedException ex) {
			undone.forEach((item) -> item.undone(ex));
			return false;
		}
	}

	private boolean failed(List<Item> due, Throwable error, boolean inDoubt) {
		Object declined = this.run.declined(due, error);
		if (!inDoubt && (declined != null || !Outcomes.isFailure(error))) {
			undo(claimed(due), error);
		}
		return (declined != null) ? declined(due, due.get(this.run.failedAt(due, error)), declined)
				: handleFailure(due, error, true, inDoubt);
	}

	// The items before it run once more, because their writes were rolled back with its.
	private boolean declined(List<Item> due, Item item, Object declined) {
		item.setWritten(this.run.write(item, declined));
		if (item.isPositioned()) {
			this.declinedPositions.add(item);
		}
		else if (!completeWithoutEffect(List.of(item), due)) {
			return !this.plan.unanswered().isEmpty();
		}
		this.plan.unclaim();
		item.setDeclined(declined);
		return true;
	}

	private boolean handleFailure(List<Item> due, Throwable error, boolean noted, boolean inDoubt) {
		int position = this.run.failedAt(due, error);
		OperationBlockedException blocked = OperationBlockedException.in(error);
		if (blocked != null && position >= 0) {
			// Only that item is blocked, and the later items of its lane.
			this.plan.unclaim();
			due.get(position).setClaimFailure(blocked);
			return true;
		}
		if (blocked != null) {
			due.forEach((item) -> item.undone(blocked));
			return false;
		}
		try {
			if (noted && Outcomes.isFailure(error)) {
				List<Claimed> all = claimed(due);
				List<Claimed> failed = (position < 0) ? all : claimed(List.of(due.get(position)));
				List<Item> lost = noteFailures(failed, all, error, inDoubt);
				if (!lost.isEmpty()) {
					OperationLostException loss = Transactions.lost(inDoubt, this.run.subject(due), error);
					if (inDoubt) {
						throw loss;
					}
					return lost(due, lost, position, loss, error);
				}
			}
		}
		catch (OperationBlockedException ex) {
			due.forEach((item) -> item.undone(ex));
			return false;
		}
		this.plan.unclaim();
		this.plan.fail((position < 0) ? null : due.get(position), error);
		return true;
	}

	// Another owner has taken over a key after the rollback. Nothing has happened twice:
	// the other items run again without the failed one, or have failed with it.
	private boolean lost(List<Item> due, List<Item> lost, int position, OperationLostException loss, Throwable error) {
		this.run.setRolledBack(loss);
		if (position >= 0) {
			this.plan.unclaim();
			due.get(position).setClaimFailure(loss);
			return true;
		}
		lost.forEach((item) -> item.undone(loss));
		this.plan.fail(null, error);
		return false;
	}

	// Record the failure of a transaction that was rolled back, unless a completion is
	// found. The handler may have committed it itself, with all those of the transaction.
	// If no claim belongs to the failure, none of them can tell. Returns the items whose
	// failure is not recorded.
	private List<Item> noteFailures(List<Claimed> failed, List<Claimed> all, Throwable error, boolean inDoubt) {
		try {
			List<Item> lost = fail(failed, error);
			boolean undone = !inDoubt && (!lost.isEmpty() || failed.isEmpty()) && undo(all, error);
			return (undone && !lost.isEmpty()) ? fail(failed, error) : lost;
		}
		catch (OperationBlockedException ex) {
			ex.addSuppressed(error);
			throw ex;
		}
	}

	private static List<Item> fail(List<Claimed> failed, Throwable error) {
		return failed.stream().flatMap((claimed) -> claimed.fail(error).stream()).toList();
	}

	// Returns false if that is not possible now, as when another owner holds a key.
	private static boolean undo(List<Claimed> claimed, @Nullable Throwable error) {
		try {
			claimed.forEach(Claimed::undo);
			return true;
		}
		catch (OperationBlockedException ex) {
			if (error != null) {
				error.addSuppressed(ex);
			}
			return false;
		}
	}

	/**
	 * The records of keys: each is inserted as completed, and visible when the
	 * transaction has committed.
	 */
	private static final class RecordClaims implements TransactionalClaims {

		private final Engine engine;

		private final TransactionalIdempotencyStore store;

		private final BatchRun run;

		private List<Item> asked = List.of();

		RecordClaims(Engine engine, TransactionalIdempotencyStore store, BatchRun run) {
			this.engine = engine;
			this.store = store;
			this.run = run;
		}

		@Override
		public void ask(List<Item> unanswered) {
			this.asked = StoreCalls.some(unanswered, (item) -> !item.hasPosition());
			this.asked.forEach(Item::newRequest);
		}

		@Override
		public boolean claim(boolean joined, boolean insert) {
			if (this.asked.isEmpty()) {
				return true;
			}
			// Most keys are new, but those with versions have records as a rule.
			List<Claim> claims = (insert && this.asked.stream().noneMatch(Item::isVersioned)) ? insert()
					: claim(this.asked, joined);
			if (claims.size() < this.asked.size()) {
				return false;
			}
			BatchPlan.setClaims(this.asked, claims);
			for (Item item : this.asked) {
				// In a joined transaction the completion itself may still be rolled back.
				if (!joined && item.claim() instanceof Claim.Completed completed && !completed.otherContent()) {
					this.engine.cache().add(item.operation(), completed.result());
				}
			}
			return true;
		}

		private List<Claim> insert() {
			return this.engine.calls()
				.callEachInTransaction(StoreCall.CLAIM, this.run.subject(this.asked), requests(this.asked),
						this.store::insert)
				.stream()
				.flatMap(Optional::stream)
				.toList();
		}

		private List<Claim> claim(List<Item> items, boolean joined) {
			return StoreCalls.claim(items,
					(requests) -> this.engine.calls()
						.callEachInTransaction(StoreCall.CLAIM, this.run.subject(items), requests,
								(part) -> this.store.claimInTransaction(part, joined)));
		}

		@Override
		public boolean claimEach() {
			for (Item item : this.asked) {
				this.run.plan().claimOne(item, () -> claim(List.of(item), true).get(0));
				if (Transactions.isUncertain(item.claimFailure())) {
					return false;
				}
			}
			return true;
		}

		// Add what is stored for the items to their records.
		void store(List<Item> done) {
			List<Item> withResult = StoreCalls.some(recorded(done), (item) -> item.written() != null);
			this.engine.calls()
				.callEachInTransaction(StoreCall.COMPLETE, this.run.subject(done),
						StoreCalls.each(withResult, Item::completion), (part) -> {
							this.store.storeResults(part);
							return part;
						});
		}

		@Override
		public void completeWithoutEffect(List<Item> done) {
			List<Item> recorded = recorded(done);
			if (recorded.isEmpty()) {
				return;
			}
			if (!claim(recorded, false).stream().allMatch(Claim.Acquired.class::isInstance)) {
				throw Transactions.lost(false, this.run.subject(done), null);
			}
			store(recorded);
		}

		// The items that have a record.
		static List<Item> recorded(List<Item> items) {
			return StoreCalls.some(items, (item) -> item.isClaimed() && !item.hasPosition());
		}

		private static List<ClaimRequest> requests(List<Item> items) {
			return StoreCalls.each(items, Item::request);
		}

		@Override
		public Claimed claimed(List<Item> items) {
			List<Item> recorded = recorded(items);
			List<ClaimRequest> requests = requests(recorded);
			Object subject = recorded.isEmpty() ? "" : this.run.subject(recorded);
			return new Claimed() {

				@Override
				public boolean isEmpty() {
					return requests.isEmpty();
				}

				@Override
				public List<Item> fail(Throwable error) {
					Failure failure = RecordClaims.this.engine.results().failure(error);
					List<Settlement> answers = settle(StoreCall.FAIL, subject,
							StoreCalls.each(requests, (claim) -> new Ending.Failed(claim, failure)));
					return IntStream.range(0, answers.size())
						.filter((i) -> answers.get(i) != Settlement.SETTLED)
						.mapToObj(recorded::get)
						.toList();
				}

				// A duplicate may have added them to the cache.
				@Override
				public void undo() {
					RecordClaims.this.engine.cache().removeAll(requests.stream().map(ClaimRequest::key).toList());
					settle(StoreCall.RELEASE, subject, StoreCalls.each(requests, Ending.Released::new));
				}

			};
		}

		private List<Settlement> settle(StoreCall call, Object subject, List<Ending> endings) {
			return StoreCalls.inParts(endings,
					(part) -> this.engine.calls()
						.settle(call, subject,
								() -> StoreCalls.answers(part, this.store.settleAfterTransaction(part, List.of()))));
		}

	}

	/**
	 * What the deliveries of a template share.
	 *
	 * @param engine the parts of the template
	 * @param store the store
	 * @param transactions begins and ends transactions
	 * @param marks the marks of the store, {@code null} if it has none
	 * @param skipped reports skipped records
	 * @param settlements settles claims of earlier transactions
	 */
	record Parts(Engine engine, TransactionalIdempotencyStore store, Transactions transactions,
			@Nullable OffsetMarks marks, SkippedOffsets skipped, Settlements settlements) {

	}

}
