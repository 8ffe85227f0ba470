package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * Settles the claims of a batch in {@link Mode#LEASED}, each kind with one call, and
 * tells the plan what does not hold.
 *
 * @param <T> the type of the result of a part
 */
final class BatchSettlement<T> {

	private final Settlements settlements;

	private final BatchRun<T> run;

	private final BatchPlan<T> plan;

	private final @Nullable Deferral deferral;

	private final ObservedBatch observed;

	private final OwnedClaims owned;

	BatchSettlement(Settlements settlements, BatchRun<T> run, @Nullable Deferral deferral, ObservedBatch observed,
			OwnedClaims owned) {
		this.observed = observed;
		this.settlements = settlements;
		this.run = run;
		this.plan = run.plan();
		this.deferral = deferral;
		this.owned = owned;
	}

	void complete(List<Integer> done, List<@Nullable T> results) {
		List<Integer> mine = this.owned.among(done);
		List<byte @Nullable []> stored = new ArrayList<>(mine.size());
		for (int i = 0; i < done.size(); i++) {
			if (this.owned.get(done.get(i)) != null) {
				stored.add(this.run.write(done.get(i), results.get(i)));
			}
			this.plan.done(done.get(i), results.get(i));
		}
		if (mine.isEmpty()) {
			return;
		}
		if (this.deferral != null) {
			defer(this.deferral, mine, stored);
			return;
		}
		settled(mine, stored);
	}

	/**
	 * Leave completions to the handler. A part that another owner has taken over is found
	 * then.
	 * @param done the parts
	 * @param results their results
	 */
	void defer(List<Integer> done, List<@Nullable T> results) {
		List<Integer> parts = new ArrayList<>(done.size());
		List<PendingCompletion> pending = new ArrayList<>(done.size());
		for (int i = 0; i < done.size(); i++) {
			int index = done.get(i);
			this.plan.done(index, results.get(i));
			if (this.owned.get(index) == null) {
				continue;
			}
			byte @Nullable [] result = this.run.write(index, results.get(i));
			parts.add(index);
			pending.add(this.observed.deferred(index, new DeferredCompletion(this.settlements,
					this.owned.take(List.of(index)), Collections.singletonList(result))));
		}
		if (!parts.isEmpty()) {
			this.run.defer(parts, pending);
		}
	}

	// The output of a part that another owner has taken over must not be committed. Its
	// claim is deferred with the others, so that the transaction is refused even if the
	// caller ignores the loss, and no key is free before its effect is rolled back.
	private void defer(Deferral who, List<Integer> mine, List<byte @Nullable []> results) {
		mine.stream().filter((index) -> this.owned.isLost(index)).forEach(this::lost);
		who.defer(new DeferredCompletion(this.settlements, this.owned.take(mine), results));
	}

	private void settled(List<Integer> mine, List<byte @Nullable []> results) {
		try {
			lost(mine, this.settlements.complete(this.run.subject(mine), this.owned.of(mine), results));
		}
		catch (OperationBlockedException ex) {
			mine.forEach((index) -> this.plan.undone(index, ex));
		}
	}

	void fail(List<Integer> failed, Throwable error) {
		List<Integer> mine = this.owned.among(failed);
		if (mine.isEmpty()) {
			return;
		}
		lost(mine, this.settlements.fail(this.run.subject(mine), this.owned.of(mine), error));
	}

	private void lost(List<Integer> mine, List<Settlement> answers) {
		for (int i = 0; i < mine.size(); i++) {
			if (answers.get(i) == Settlement.LOST) {
				lost(mine.get(i));
			}
		}
	}

	private void lost(int index) {
		this.plan.undone(index, Settlements.logged(this.owned.of(List.of(index)).get(0).lost()));
	}

	void release(List<Integer> parts) {
		List<Integer> mine = this.owned.among(parts);
		if (!mine.isEmpty()) {
			this.settlements.release(this.run.subject(mine), this.owned.of(mine));
		}
	}

}
