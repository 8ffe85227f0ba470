package dev.idempotency.template;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionStatus;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Completion;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Settlement;
import dev.idempotency.store.TransactionalIdempotencyStore;
import dev.idempotency.template.IdempotencyListener.StoreCall;

/**
 * One delivery of a batch in {@link Mode#TRANSACTIONAL}: one statement claims the keys of
 * the whole batch in the transaction of the handler, and at most one adds the results.
 * <p>
 * What was claimed in vain, because something before it has to wait or because the
 * handler failed, goes with its transaction; what is left is claimed in a new one. When
 * the handler says at which part it failed, what comes before is run once more, without
 * that part, and committed.
 *
 * @param <T> the type of the result of a part
 */
final class TransactionalBatch<T> {

	private final TransactionalIdempotencyStore store;

	private final StoreCalls calls;

	private final CompletionCache cache;

	private final Transactions transactions;

	private final BatchRun<T> run;

	private final BatchPlan<T> plan;

	private final TransactionalBatchClaims claims;

	private final TransactionBoundary boundary;

	TransactionalBatch(TransactionalIdempotencyStore store, StoreCalls calls, CompletionCache cache,
			Transactions transactions, BatchRun<T> run, TransactionBoundary boundary, boolean isProtected) {
		this.store = store;
		this.calls = calls;
		this.cache = cache;
		this.transactions = transactions;
		this.run = run;
		this.plan = run.plan();
		this.boundary = boundary;
		this.claims = new TransactionalBatchClaims(store, calls, transactions, run, boundary, isProtected);
	}

	void execute() {
		boolean again = true;
		while (again) {
			this.plan.decide();
			again = !this.plan.due().isEmpty() && executeOnce();
		}
	}

	private boolean executeOnce() {
		TransactionStatus transaction = this.claims.claim();
		decide(transaction);
		List<Integer> due = this.plan.due();
		if (due.isEmpty() || !this.plan.surplus().isEmpty()) {
			this.transactions.rollback(transaction, null);
			this.plan.unclaim();
			return true;
		}
		return run(due, transaction);
	}

	private void decide(TransactionStatus transaction) {
		try {
			this.plan.decide();
		}
		catch (Throwable ex) {
			this.transactions.rollback(transaction, ex);
			throw ex;
		}
	}

	private boolean run(List<Integer> due, TransactionStatus transaction) {
		List<@Nullable IdempotentExecution> executions = new ArrayList<>(due.size());
		for (int index : due) {
			BatchPart part = this.plan.part(index);
			executions.add((part.claim() instanceof Claim.Acquired acquired)
					? new ClaimedExecution(part.operation().key(), acquired) : null);
		}
		List<@Nullable T> results;
		Map<Integer, Completion> completions;
		boolean withoutEffect;
		try {
			results = this.run.run(due, executions);
			completions = completions(due, results);
			withoutEffect = Transactions.isRollbackOnly(transaction, this.boundary);
			if (!withoutEffect) {
				store(due, completions);
				this.transactions.commit(transaction);
			}
		}
		catch (Throwable ex) {
			boolean inDoubt = Transactions.isInDoubt(transaction, ex);
			this.transactions.rollback(transaction, ex);
			return failed(due, ex, inDoubt);
		}
		if (withoutEffect) {
			this.transactions.rollback(transaction, null);
			try {
				completeWithoutEffect(due, completions);
			}
			catch (OperationBlockedException ex) {
				due.forEach((index) -> this.plan.undone(index, ex));
				return false;
			}
		}
		completions.forEach((index, completion) -> {
			IdempotentOperation operation = this.plan.part(index).operation();
			this.cache.add(operation.key(), operation.fingerprint(), completion.result(), operation.retention());
		});
		for (int i = 0; i < due.size(); i++) {
			this.plan.done(due.get(i), results.get(i));
		}
		return false;
	}

	// The handler had its writes rolled back, and returned: the operations are done.
	private void completeWithoutEffect(List<Integer> due, Map<Integer, Completion> completions) {
		if (completions.isEmpty()) {
			return;
		}
		Object subject = this.run.subject(due);
		TransactionStatus transaction = this.transactions.begin(subject, this.boundary.definition());
		try {
			List<ClaimRequest> requests = completions.values().stream().map(Completion::claim).toList();
			List<Claim> answers = this.calls.call(StoreCall.CLAIM, subject,
					() -> this.store.claimAllInTransaction(requests, false));
			if (!answers.stream().allMatch(Claim.Acquired.class::isInstance)) {
				throw Transactions.lost(false, subject, null);
			}
			store(due, completions);
		}
		catch (RuntimeException | Error ex) {
			this.transactions.rollback(transaction, ex);
			throw ex;
		}
		this.transactions.commitWithoutEffect(transaction, subject);
	}

	private Map<Integer, Completion> completions(List<Integer> due, List<@Nullable T> results) {
		Map<Integer, Completion> completions = new LinkedHashMap<>();
		for (int i = 0; i < due.size(); i++) {
			int index = due.get(i);
			if (this.plan.part(index).isClaimed()) {
				completions.put(index,
						new Completion(this.claims.request(index), this.run.writeOrFail(index, results.get(i))));
			}
		}
		return completions;
	}

	private void store(List<Integer> due, Map<Integer, Completion> completions) {
		List<Completion> kept = completions.values().stream().filter((one) -> one.result() != null).toList();
		if (!kept.isEmpty()) {
			this.calls.call(StoreCall.COMPLETE, this.run.subject(due), () -> {
				this.store.storeResults(kept);
				return Settlement.SETTLED;
			});
		}
	}

	private boolean failed(List<Integer> due, Throwable error, boolean inDoubt) {
		int position = this.run.failedAt(due, error);
		OperationBlockedException blocked = OperationBlockedException.in(error);
		if (blocked != null && position >= 0) {
			// Only that part waits, and what comes after it in its lane.
			this.plan.unclaim();
			this.plan.part(due.get(position)).block(blocked);
			return true;
		}
		List<Integer> failed = ((position < 0) ? due : List.of(due.get(position))).stream()
			.filter((i) -> this.plan.part(i).isClaimed())
			.toList();
		try {
			note(failed, error, inDoubt);
		}
		catch (OperationBlockedException ex) {
			ex.addSuppressed(error);
			due.forEach((index) -> this.plan.undone(index, ex));
			return false;
		}
		if (blocked != null) {
			due.forEach((index) -> this.plan.undone(index, blocked));
			return false;
		}
		this.plan.unclaim();
		this.plan.fail((position < 0) ? -1 : due.get(position), error);
		return position > 0;
	}

	private void note(List<Integer> failed, Throwable error, boolean inDoubt) {
		if (failed.isEmpty()) {
			return;
		}
		Failure failure = Failure.of(error);
		List<ClaimRequest> claims = failed.stream().map(this.claims::request).toList();
		List<Settlement> noted = this.calls.settle(StoreCall.FAIL, this.run.subject(failed),
				() -> this.store.noteFailures(claims, failure));
		if (noted.contains(Settlement.LOST)) {
			throw Transactions.lost(inDoubt, this.run.subject(failed), error);
		}
	}

}
