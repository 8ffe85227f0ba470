package dev.idempotency.template;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * One delivery of a batch in {@link Mode#LEASED}: one call claims, one completes.
 * <ol>
 * <li>claim every key that is not known here;</li>
 * <li>give back what must not run yet, because something before it waits;</li>
 * <li>run the handler with the rest, while its leases are renewed;</li>
 * <li>complete them, or those that the handler does not want to wait; if the handler
 * failed at one, complete those before it, fail that one and give the rest back; else
 * fail all of them.</li>
 * </ol>
 *
 * @param <T> the type of the result of a part
 */
final class LeasedBatch<T> {

	private final LeasedClaims claims;

	private final Settlements settlements;

	private final BatchRun<T> run;

	private final BatchPlan<T> plan;

	private final boolean deferred;

	// It is rolled back unless all parts can be run, and succeed.
	private final boolean asWhole;

	private final OwnedClaims owned = new OwnedClaims();

	private final BatchSettlement<T> settlement;

	LeasedBatch(LeasedClaims claims, Settlements settlements, BatchRun<T> run, @Nullable Deferral deferral,
			ObservedBatch observed, boolean asWhole) {
		this.claims = claims;
		this.settlements = settlements;
		this.asWhole = asWhole;
		this.run = run;
		this.plan = run.plan();
		this.deferred = deferral != null;
		this.settlement = new BatchSettlement<>(settlements, run, deferral, observed, this.owned);
	}

	void execute() {
		try {
			claim();
			this.plan.decide();
			if (this.asWhole && this.plan.isIncomplete()) {
				// The transaction will be rolled back for those that wait or are
				// rejected.
				this.settlement.release(this.owned.parts());
				return;
			}
			this.settlement.release(this.plan.surplus());
			List<Integer> due = this.plan.due();
			if (!due.isEmpty()) {
				run(due);
			}
		}
		finally {
			this.owned.all().forEach(this.settlements::leave);
		}
	}

	private void claim() {
		Map<Integer, ClaimRequest> requests = new LinkedHashMap<>();
		for (int index : this.plan.unanswered()) {
			requests.put(index, this.plan.part(index).operation().newRequest());
		}
		if (requests.isEmpty()) {
			return;
		}
		long start = System.nanoTime();
		this.claims.claimAll(this.run, requests);
		requests.forEach((index, request) -> {
			BatchPart part = this.plan.part(index);
			if (part.claim() instanceof Claim.Acquired acquired) {
				this.owned.put(index, this.settlements.keep(part.operation(), request, acquired, start));
			}
		});
	}

	private void run(List<Integer> due) {
		List<@Nullable T> results;
		try {
			results = this.run.run(due, this.owned.executions(due));
		}
		catch (Throwable ex) {
			failed(due, ex);
			return;
		}
		int now = this.deferred ? due.size() : this.run.completed(due.size());
		if (now == due.size()) {
			this.settlement.complete(due, results);
			return;
		}
		List<Integer> behind = due.subList(now, due.size());
		this.settlement.complete(due.subList(0, now), results.subList(0, now));
		if (due.subList(0, now).stream().noneMatch((index) -> this.plan.part(index).isWaiting())) {
			this.settlement.defer(behind, results.subList(now, due.size()));
		}
		else {
			// They are redelivered behind the part that waits, and must not run again.
			this.settlement.complete(behind, results.subList(now, due.size()));
		}
	}

	private void failed(List<Integer> due, Throwable error) {
		int position = this.run.failedAt(due, error);
		OperationBlockedException blocked = OperationBlockedException.in(error);
		if (position < 0) {
			if (blocked != null) {
				this.settlement.release(due);
				due.forEach((index) -> this.plan.undone(index, blocked));
			}
			else {
				this.settlement.fail(due, error);
				this.plan.fail(-1, error);
			}
			return;
		}
		List<Integer> before = due.subList(0, position);
		if (this.asWhole && !this.run.isCommitted(error)) {
			// Their effects go with the transaction.
			this.settlement.release(before);
		}
		else {
			this.settlement.complete(before, BatchRun.noResults(position));
		}
		if (blocked != null) {
			this.settlement.release(due.subList(position, due.size()));
			this.plan.undone(due.get(position), blocked);
			return;
		}
		this.settlement.fail(due.subList(position, position + 1), error);
		this.settlement.release(due.subList(position + 1, due.size()));
		this.plan.fail(due.get(position), error);
	}

}
