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
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
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

	private final AsyncSettlements asynchronous;

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
		this.asynchronous = asynchronous;
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
			this.run.replayFrom(this::known);
		}
		try {
			boolean again = true;
			while (again) {
				again = executeOnce();
			}
		}
		finally {
			leave(this.plan.owned());
		}
	}

	private Claim.@Nullable Completed known(int index, IdempotentOperation operation) {
		Claim.Completed known = (this.deferral != null) ? this.deferral.find(operation) : null;
		return (known != null) ? known : this.run.handler().known(index, operation);
	}

	// Returns null if the operation is blocked or rejected, or if its handler has failed
	// before it returned a stage.
	@Nullable CompletableFuture<IdempotentResult<Object>> executeAsync() {
		try {
			if (this.isProtected) {
				claim();
			}
			this.plan.decide();
			List<Integer> due = this.plan.stillDue();
			if (!due.isEmpty()) {
				return runAsync(due);
			}
			IdempotentResult<Object> known = this.plan.resultOf(0);
			return (known != null) ? CompletableFuture.completedFuture(known) : null;
		}
		finally {
			leave(this.plan.owned());
		}
	}

	// The value of an asynchronous handler is a stage.
	@SuppressWarnings("unchecked")
	private @Nullable CompletableFuture<IdempotentResult<Object>> runAsync(List<Integer> due) {
		CompletionStage<Object> stage;
		try {
			stage = (CompletionStage<Object>) Objects.requireNonNull(this.run.run(due, this::execution).get(0));
		}
		catch (Throwable ex) {
			failed(due, ex);
			return null;
		}
		if (!this.isProtected) {
			return AsyncSettlements.unprotected(stage);
		}
		CompletableFuture<IdempotentResult<Object>> future = this.asynchronous.settle(stage, claim(due.get(0)),
				(value) -> this.run.write(due.get(0), value));
		this.plan.item(due.get(0)).setOwned(null);
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
			release(this.plan.owned());
			return false;
		}
		List<Integer> surplus = this.plan.surplus();
		release(surplus);
		if (this.isProtected && !this.plan.unanswered().isEmpty()) {
			leave(surplus);
			return true;
		}
		List<Integer> due = this.plan.stillDue();
		if (due.isEmpty()) {
			return false;
		}
		run(due);
		if (this.allOrNothing || (this.isProtected && this.plan.unanswered().isEmpty())) {
			return false;
		}
		leave(this.plan.owned());
		return true;
	}

	private void leave(List<Integer> items) {
		for (int index : owned(items)) {
			this.settlements.leave(claim(index));
			this.plan.item(index).setOwned(null);
		}
	}

	private void claim() {
		List<Integer> asked = withoutPending(this.plan.unanswered());
		Claimed taken = (this.ahead != null && !asked.isEmpty()) ? this.ahead.take(operation(asked.get(0))) : null;
		if (taken != null) {
			this.plan.item(asked.get(0)).setClaim(taken.claim());
			answered(asked.get(0), taken.request(), taken.since());
			return;
		}
		for (List<Integer> part : StoreCalls.parts(asked)) {
			try {
				claim(part);
			}
			catch (IdempotencyStoreUnavailableException ex) {
				if (this.plan.owned().isEmpty()) {
					throw ex;
				}
				// The items that are claimed run, so that each delivery makes progress.
				asked.subList(asked.indexOf(part.get(0)), asked.size())
					.forEach((index) -> this.plan.item(index).setClaimFailure(ex));
				return;
			}
		}
	}

	private void claim(List<Integer> items) {
		List<ClaimRequest> requests = StoreCalls.each(items, (index) -> this.plan.item(index).newRequest());
		long start = System.nanoTime();
		Object subject = this.run.subject(items);
		this.engine.calls().permit(subject);
		try {
			claim(items, requests, subject);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			// The store may have recorded the claims although its answer is missing.
			releaseLater(items);
			throw ex;
		}
		for (int index : items) {
			answered(index, this.plan.item(index).request(), start);
		}
	}

	private void answered(int index, ClaimRequest request, long since) {
		Claim claim = this.plan.item(index).claim();
		if (claim instanceof Claim.Completed completed) {
			this.engine.cache().add(operation(index), completed.result());
		}
		else if (claim instanceof Claim.Acquired acquired) {
			this.plan.item(index).setOwned(this.settlements.keep(operation(index), request, acquired, since));
		}
	}

	private IdempotentOperation operation(int index) {
		return this.plan.item(index).operation();
	}

	private List<Integer> withoutPending(List<Integer> items) {
		if (this.settlements.isEmpty()) {
			return items;
		}
		List<Integer> others = new ArrayList<>(items);
		others.removeIf((index) -> {
			try {
				this.settlements.settlePending(operation(index), this.run::markStarted);
				return false;
			}
			catch (IdempotencyStoreUnavailableException ex) {
				throw ex;
			}
			catch (OperationBlockedException ex) {
				this.plan.item(index).setClaimFailure(ex);
				return true;
			}
		});
		return others;
	}

	private void claim(List<Integer> items, List<ClaimRequest> requests, Object subject) {
		try {
			this.plan.setClaims(items, claimAll(subject, requests));
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException
				| IdempotencyStoreRefusedException ex) {
			if (items.size() == 1) {
				this.plan.item(items.get(0)).setClaimFailure(ex);
				releaseUncertain(items);
				return;
			}
			List<Integer> behind = claimEach(items);
			releaseUncertain(items);
			if (ex instanceof IdempotencyStoreRefusedException) {
				releaseOnce(behind, subject);
			}
			else {
				releaseLater(behind);
			}
		}
	}

	// A concurrent transaction locks one of the keys, or the store refuses one, and the
	// store does not name it. Only that item and the later ones of its lane are blocked.
	// Returns the later ones, which the failed call may have claimed.
	private List<Integer> claimEach(List<Integer> items) {
		List<Integer> behind = new ArrayList<>();
		for (int index : items) {
			IdempotentOperation operation = operation(index);
			boolean asked = this.plan.claimOne(index, () -> {
				this.engine.calls().permit(operation);
				return claimAll(operation, List.of(this.plan.item(index).request())).get(0);
			});
			if (!asked) {
				behind.add(index);
				this.plan.item(index).leaveOut(null);
			}
		}
		return behind;
	}

	// After an Error of the store, its claims may have succeeded.
	private void releaseUncertain(List<Integer> items) {
		releaseLater(StoreCalls.some(items, (index) -> {
			OperationBlockedException failure = this.plan.item(index).claimFailure();
			return failure != null && failure.getCause() instanceof Error;
		}));
	}

	private List<Claim> claimAll(Object subject, List<ClaimRequest> requests) {
		return StoreCalls.inParts(requests, (part) -> this.engine.calls()
			.call(StoreCall.CLAIM, subject, () -> StoreCalls.answers(part, this.engine.store().claimAll(part))));
	}

	private void releaseLater(List<Integer> items) {
		items.forEach((index) -> this.settlements.releaseLater(operation(index), this.plan.item(index).request()));
	}

	// Without a retry: a store that refuses the release as well may do so for hours.
	private void releaseOnce(List<Integer> items, Object subject) {
		if (items.isEmpty()) {
			return;
		}
		List<ClaimRequest> requests = StoreCalls.each(items, (index) -> this.plan.item(index).request());
		try {
			this.engine.calls().call(StoreCall.RELEASE, subject, () -> this.engine.store().releaseAll(requests));
		}
		catch (OperationBlockedException ex) {
			logger.debug("Claims were not released; their keys are free when their leases have expired", ex);
		}
	}

	private void run(List<Integer> due) {
		List<@Nullable Object> values;
		try {
			values = this.run.run(due, this::execution);
		}
		catch (Throwable ex) {
			failed(due, ex);
			return;
		}
		int now = (this.deferral != null) ? due.size() : this.run.completed(due.size());
		if (now == due.size()) {
			complete(due, values);
			return;
		}
		List<Integer> first = due.subList(0, now);
		List<Integer> later = due.subList(now, due.size());
		complete(first, values.subList(0, now));
		if (first.stream().noneMatch((index) -> this.plan.item(index).isBlocked())) {
			deferEach(later, values.subList(now, due.size()));
		}
		else {
			// They are redelivered behind the blocked item, and must not run again.
			complete(later, values.subList(now, due.size()));
		}
	}

	private @Nullable IdempotentExecution execution(int index) {
		OwnedClaim claim = this.plan.item(index).owned();
		return (claim != null) ? claim.execution() : null;
	}

	private void failed(List<Integer> due, Throwable error) {
		int position = this.run.failedAt(due, error);
		OperationBlockedException blocked = OperationBlockedException.in(error);
		int done = (position >= 0) ? position : this.run.finished();
		List<Integer> rest = due.subList(done, due.size());
		// Without a position, the handler has failed at all of them.
		List<Integer> failed = (position < 0) ? rest : rest.subList(0, 1);
		List<Integer> ended = (blocked != null) ? rest : failed;
		endBefore(due.subList(0, done), error);
		if (blocked != null) {
			this.plan.undone(failed, blocked);
		}
		fail(ended, error);
		undoLost(failed, error);
		if (blocked == null) {
			this.plan.fail((position < 0) ? -1 : due.get(position), error);
		}
		release(rest.subList(ended.size(), rest.size()));
	}

	private void endBefore(List<Integer> before, Throwable error) {
		// After a negative acknowledgment the container commits the transaction.
		if (this.allOrNothing && !(error instanceof NackedException)) {
			// Their effects are rolled back with the transaction.
			release(before);
		}
		else {
			complete(before, this.run.valuesBefore(before.size()));
		}
	}

	private void complete(List<Integer> done, List<@Nullable Object> values) {
		List<Integer> mine = done(done, values);
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
			this.plan.undone(mine, ex);
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
	private void defer(Deferral receiver, List<Integer> mine) {
		List<Integer> held = new ArrayList<>(mine);
		held.removeIf((index) -> claim(index).execution().ownershipLost());
		mine.stream().filter((index) -> !held.contains(index)).forEach((index) -> lost(index, null));
		if (held.isEmpty() && this.run.isSingle() && this.allOrNothing) {
			return;
		}
		List<OwnedClaim> claims = claims(mine);
		mine.forEach((index) -> this.plan.item(index).setOwned(null));
		receiver.defer(new PendingCompletion(this.settlements, claims, this.run.deferReport(held)));
	}

	// A loss of ownership shows when the completion is recorded.
	private void deferEach(List<Integer> done, List<@Nullable Object> values) {
		List<Integer> mine = done(done, values);
		if (!mine.isEmpty()) {
			this.run.handler()
				.defer(mine,
						mine.stream()
							.map((index) -> new PendingCompletion(this.settlements, claims(List.of(index)),
									this.run.deferReport(List.of(index))))
							.toList());
			mine.forEach((index) -> this.plan.item(index).setOwned(null));
		}
	}

	// Returns those of the items that have a claim.
	private List<Integer> done(List<Integer> done, List<@Nullable Object> values) {
		for (int i = 0; i < done.size(); i++) {
			int index = done.get(i);
			OwnedClaim claim = this.plan.item(index).owned();
			if (claim != null) {
				claim.setResult(this.run.write(index, values.get(i)));
			}
			this.plan.done(index, values.get(i));
		}
		return owned(done);
	}

	private void fail(List<Integer> failed, Throwable error) {
		List<Integer> mine = owned(failed);
		if (!mine.isEmpty()) {
			this.settlements.fail(this.run.subject(mine), claims(mine), error);
		}
	}

	private void release(List<Integer> items) {
		List<Integer> mine = owned(items);
		if (!mine.isEmpty()) {
			this.settlements.settle(StoreCall.RELEASE, this.run.subject(mine), claims(mine));
		}
	}

	private List<Integer> owned(List<Integer> items) {
		return StoreCalls.some(items, (index) -> this.plan.item(index).owned() != null);
	}

	private List<OwnedClaim> claims(List<Integer> mine) {
		return StoreCalls.each(mine, this::claim);
	}

	private OwnedClaim claim(int index) {
		return Objects.requireNonNull(this.plan.item(index).owned());
	}

	private void undoLost(List<Integer> items, @Nullable Throwable error) {
		for (int index : items) {
			OwnedClaim claim = this.plan.item(index).owned();
			if (claim != null && claim.isLost()) {
				lost(index, error);
				refuseCommit(claim, index);
			}
		}
	}

	// The caller may catch the exception, and commit what the handler has written.
	private void refuseCommit(OwnedClaim lost, int index) {
		if (this.deferral != null && !this.allOrNothing) {
			lost.execution().loseOwnership();
			this.plan.item(index).setOwned(null);
			this.deferral
				.defer(new PendingCompletion(this.settlements, List.of(lost), this.run.deferReport(List.of())));
		}
	}

	private void lost(int index, @Nullable Throwable error) {
		this.plan.undone(index, Settlements.logged(claim(index).lost(error)));
	}

}
