package dev.idempotency.template;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;

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
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.StoreObserver.StoreCall;

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

	private final StoreCalls calls;

	private final TransactionalIdempotencyStore store;

	private final Transactions transactions;

	private final BatchRun run;

	private final BatchPlan plan;

	private final TransactionBoundary boundary;

	private final OffsetClaims offsets;

	// The items with records that the current transaction has asked for.
	private List<Item> requested = List.of();

	// That of the marks which the current transaction has raised.
	private UUID token = UUID.randomUUID();

	// The requests of failed items whose keys another owner has now.
	private List<ClaimRequest> lost = List.of();

	// The declined items that are recognized by their offsets.
	private final List<Item> declinedPositions = new ArrayList<>();

	TransactionalProtocol(Parts parts, BatchRun run, TransactionBoundary boundary) {
		this.parts = parts;
		this.calls = parts.engine().calls();
		this.store = parts.store();
		this.transactions = parts.transactions();
		this.run = run;
		this.plan = run.plan();
		this.boundary = boundary;
		this.offsets = parts.offsets();
	}

	void execute(boolean isProtected) {
		this.plan.awaitClaims(isProtected);
		if (isProtected) {
			// A claim in an earlier transaction of the caller may have to be undone
			// first.
			for (Item item : this.plan.unanswered()) {
				this.parts.settlements().awaitQueued(item.operation().key());
			}
			// The brokers may have to be asked for the identity of a topic, so this needs
			// no connection and no permission yet.
			List<Item> positioned = StoreCalls.some(this.plan.unanswered(), Item::hasPosition);
			if (!positioned.isEmpty()) {
				this.offsets.marks(positioned, this.token);
			}
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
		this.requested = List.of();
		Object subject = this.run.subject(this.plan.due());
		if (unanswered.isEmpty()) {
			TransactionStatus transaction = this.transactions.beginUnprotected(subject, this.boundary.definition());
			Assert.state(this.run.isSingle() || transaction.isNewTransaction(), JOINED);
			return transaction;
		}
		// Most keys are new, but those with versions have records as a rule.
		boolean insert = true;
		for (Item item : unanswered) {
			insert &= !item.isVersioned();
			if (item.hasPosition()) {
				this.offsets.requireSupported();
			}
			else {
				item.newRequest();
			}
		}
		List<Item> positioned = StoreCalls.some(unanswered, Item::hasPosition);
		this.requested = StoreCalls.some(unanswered, (item) -> !item.hasPosition());
		TransactionStatus transaction = this.transactions.beginFirst(subject, this.boundary.definition());
		boolean joined = !transaction.isNewTransaction();
		if (joined && !this.run.isSingle()) {
			this.calls.circuit().releasePermission();
			throw new IllegalStateException(JOINED);
		}
		Object asked = this.run.subject(unanswered);
		try {
			if (!claimRecords(asked, joined, insert && !joined)) {
				// The rollback also restores the lock timeout of the transaction.
				this.transactions.rollback(transaction, null);
				transaction = this.transactions.begin(asked, this.boundary.definition());
				claimRecords(asked, false, false);
			}
			if (!positioned.isEmpty()) {
				this.token = UUID.randomUUID();
				this.offsets.claim(this.run, positioned, this.token, joined);
			}
			return transaction;
		}
		catch (OperationInProgressException | IdempotencyStoreRefusedException ex) {
			this.transactions.rollbackOwn(transaction, ex);
			if (this.plan.items().size() == 1) {
				throw ex;
			}
			return claimEach(positioned, asked);
		}
		catch (Throwable ex) {
			this.transactions.rollbackOwn(transaction, ex);
			throw ex;
		}
	}

	// Returns whether all keys are claimed or known.
	private boolean claimRecords(Object asked, boolean joined, boolean insert) {
		List<ClaimRequest> all = requests();
		List<Claim> claims = insert ? insertAll(all, asked) : claimAll(all, asked, joined);
		if (claims.size() < all.size()) {
			return false;
		}
		BatchPlan.setClaims(this.requested, claims);
		for (Item item : this.requested) {
			// In a joined transaction the completion itself may still be rolled back.
			if (!joined && item.claim() instanceof Claim.Completed completed) {
				this.parts.engine().cache().add(item.operation(), completed.result());
			}
		}
		return true;
	}

	private List<Claim> insertAll(List<ClaimRequest> requests, Object subject) {
		List<Claim> claims = new ArrayList<>(requests.size());
		for (Optional<Claim> claim : this.calls.callEachInTransaction(StoreCall.CLAIM, subject, requests,
				this.store::insert)) {
			claim.ifPresent(claims::add);
		}
		return claims;
	}

	// A concurrent transaction locks one of the keys, or the store refuses one, and the
	// store does not name it. Only that item and the later ones of its lane are blocked.
	// A transaction that may contain the claim of a blocked item is not committed: no
	// item has a claim then, and the others are claimed again.
	private TransactionStatus claimEach(List<Item> positioned, Object asked) {
		TransactionStatus transaction = this.transactions.begin(asked, this.boundary.definition());
		return this.transactions.orRollback(transaction, () -> {
			for (Item item : this.requested) {
				this.plan.claimOne(item, () -> claimAll(List.of(item.request()), item.operation(), true).get(0));
				if (Transactions.isUncertain(item.claimFailure())) {
					this.plan.unclaim();
					return transaction;
				}
			}
			if (!this.offsets.claimEach(this.run, positioned, this.token)) {
				this.plan.unclaim();
			}
			return transaction;
		});
	}

	private List<Claim> claimAll(List<ClaimRequest> requests, Object subject, boolean joined) {
		return this.calls.callEachInTransaction(StoreCall.CLAIM, subject, requests,
				(part) -> this.store.claimInTransaction(part, joined));
	}

	private boolean run(List<Item> due, TransactionStatus transaction) {
		boolean joined = !transaction.isNewTransaction();
		boolean withoutEffect;
		try {
			this.run.run(due, TransactionalProtocol::execution);
			for (Item item : recorded(due)) {
				item.setWritten(this.run.write(item, item.value()));
			}
			// The handler may request a rollback of its own transaction.
			withoutEffect = !joined
					&& (this.boundary.rollbackOnly().getAsBoolean() || due.get(0).value() instanceof Declined);
			if (!withoutEffect) {
				this.transactions.commit(transaction, this.run.subject(due), () -> store(due));
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
			recorded(due).forEach((item) -> this.parts.engine().cache().add(item.operation(), item.written()));
		}
		due.forEach(Item::done);
		return false;
	}

	// The items that have a record.
	private static List<Item> recorded(List<Item> items) {
		return StoreCalls.some(items, (item) -> item.isClaimed() && !item.hasPosition());
	}

	private void settleAfterRollback(List<Item> due, @Nullable Throwable error) {
		List<ClaimRequest> claims = requests();
		List<OffsetMark> marks = marks(due);
		if (claims.isEmpty() && marks.isEmpty()) {
			return;
		}
		Object subject = this.run.subject(due);
		BooleanSupplier undo = () -> this.transactions.undo(subject, claims, marks, error);
		boolean failed = error != null && Outcomes.isFailure(error);
		this.transactions.settleAfterRollback(due.get(0).operation(), failed, (inDoubt) -> {
			if (failed) {
				noteFailures(subject, claims, marks, undo, Objects.requireNonNull(error), inDoubt);
			}
			else {
				undo.getAsBoolean();
			}
		});
	}

	private static @Nullable IdempotentExecution execution(Item item) {
		return (item.claim() instanceof Claim.Acquired acquired)
				? new ClaimedExecution(item.operation().key(), acquired) : null;
	}

	private List<ClaimRequest> requests() {
		return StoreCalls.each(this.requested, Item::request);
	}

	private void store(List<Item> items) {
		List<Item> withResult = StoreCalls.some(recorded(items), (item) -> item.written() != null);
		this.calls.callEachInTransaction(StoreCall.COMPLETE, this.run.subject(items),
				StoreCalls.each(withResult, Item::completion), (part) -> {
					this.store.storeResults(part);
					return part;
				});
	}

	// The handler requested a rollback of its writes and returned: the operations are
	// done. If that cannot be recorded, items are undone, and if another delivery has
	// completed one of them meanwhile, all are claimed again. Returns whether it is
	// recorded.
	private boolean completeWithoutEffect(List<Item> done, List<Item> undone) {
		List<Item> recorded = recorded(done);
		List<Item> positioned = StoreCalls.some(done,
				(item) -> item.isPositioned() || this.declinedPositions.contains(item));
		if (recorded.isEmpty() && positioned.isEmpty()) {
			return true;
		}
		Object subject = this.run.subject(done);
		try {
			this.transactions.completeWithoutEffect(subject, this.boundary.definition(), () -> {
				if (!recorded.isEmpty()) {
					List<Claim> claims = claimAll(StoreCalls.each(recorded, Item::request), subject, false);
					if (!claims.stream().allMatch(Claim.Acquired.class::isInstance)) {
						throw Transactions.lost(false, subject, null);
					}
					store(recorded);
				}
				if (!positioned.isEmpty()) {
					this.offsets.completeWithoutEffect(this.run, positioned);
				}
			});
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
			undo(due, error);
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
		List<Item> failed = StoreCalls.some((position < 0) ? due : List.of(due.get(position)), Item::isClaimed);
		try {
			if (noted && Outcomes.isFailure(error)) {
				noteFailures(failed, due, error, inDoubt);
			}
		}
		catch (OperationBlockedException ex) {
			if (!inDoubt && ex instanceof OperationLostException) {
				return lost(due, failed, position, ex, error);
			}
			due.forEach((item) -> item.undone(ex));
			return false;
		}
		this.plan.unclaim();
		this.plan.fail((position < 0) ? null : due.get(position), error);
		return true;
	}

	// Another owner has taken over a key after the rollback. Nothing has happened twice:
	// the other items run again without the failed one, or have failed with it.
	private boolean lost(List<Item> due, List<Item> failed, int position, OperationBlockedException loss,
			Throwable error) {
		this.run.setRolledBack(loss);
		if (position >= 0) {
			this.plan.unclaim();
			due.get(position).setClaimFailure(loss);
			return true;
		}
		failed.stream()
			.filter((item) -> item.hasPosition() || this.lost.contains(item.request()))
			.forEach((item) -> item.undone(loss));
		this.plan.fail(null, error);
		return false;
	}

	// If none of the claims of the transaction belongs to the failure, none of them can
	// tell whether the handler has committed it.
	private void noteFailures(List<Item> claimed, List<Item> due, Throwable error, boolean inDoubt) {
		Object subject = this.run.subject(due);
		List<ClaimRequest> failed = StoreCalls.each(recorded(claimed), Item::request);
		noteFailures(subject, failed, marks(claimed), () -> undo(due, error), error, inDoubt);
		if (claimed.isEmpty() && !inDoubt) {
			undo(due, error);
		}
	}

	private void noteFailures(Object subject, List<ClaimRequest> failed, List<OffsetMark> marks, BooleanSupplier undo,
			Throwable error, boolean inDoubt) {
		this.transactions.failed(subject, () -> {
			this.lost = this.transactions.noteFailures(subject, failed, error);
			return this.lost.isEmpty() && !this.offsets.isRaised(subject, marks);
		}, undo, error, inDoubt);
	}

	private boolean undo(List<Item> due, Throwable error) {
		return this.transactions.undo(this.run.subject(due), requests(), marks(due), error);
	}

	private List<OffsetMark> marks(List<Item> items) {
		return this.offsets.marks(StoreCalls.some(items, Item::isPositioned), this.token);
	}

	/**
	 * What the deliveries of a template share.
	 *
	 * @param engine the parts of the template
	 * @param store the store
	 * @param transactions begins and ends transactions
	 * @param offsets the claims of operations with offsets
	 * @param settlements settles claims of earlier transactions
	 */
	record Parts(Engine engine, TransactionalIdempotencyStore store, Transactions transactions, OffsetClaims offsets,
			Settlements settlements) {

	}

}
