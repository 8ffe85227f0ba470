package dev.idempotency;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

/**
 * Settles the claims of a batch in {@link Mode#LEASED}, each kind with one call, and
 * tells the plan what does not hold.
 *
 * @param <T> the type of the result of a part
 */
final class BatchSettlement<T> {

	private final LeasedClaims claims;

	private final BatchClaims batch;

	private final BatchRun<T> run;

	private final BatchPlan<T> plan;

	private final @Nullable Consumer<PendingCompletion> deferral;

	private final OwnedClaims owned;

	BatchSettlement(LeasedClaims claims, BatchClaims batch, BatchRun<T> run,
			@Nullable Consumer<PendingCompletion> deferral, OwnedClaims owned) {
		this.claims = claims;
		this.batch = batch;
		this.run = run;
		this.plan = run.plan();
		this.deferral = deferral;
		this.owned = owned;
	}

	void complete(List<Integer> done, List<@Nullable T> results) {
		List<Integer> mine = this.owned.among(done);
		List<Completion> completions = new ArrayList<>(mine.size());
		for (int i = 0; i < done.size(); i++) {
			OwnedClaim claim = this.owned.get(done.get(i));
			if (claim != null) {
				this.claims.settling(claim);
				completions.add(new Completion(claim.request(), this.run.write(done.get(i), results.get(i))));
			}
			this.plan.done(done.get(i), results.get(i));
		}
		if (mine.isEmpty()) {
			return;
		}
		if (this.deferral != null) {
			defer(this.deferral, mine, completions);
			return;
		}
		settled(mine, completions);
	}

	// Output of somebody who has lost the key must not be committed.
	private void defer(Consumer<PendingCompletion> who, List<Integer> mine, List<Completion> completions) {
		List<Integer> lost = mine.stream().filter((index) -> this.owned.isLost(index)).toList();
		if (lost.isEmpty()) {
			who.accept(new DeferredCompletion(this.claims, this.batch, this.owned.take(mine), completions));
			return;
		}
		release(mine.stream().filter((index) -> !lost.contains(index)).toList());
		lost.forEach(this::lost);
	}

	private void settled(List<Integer> mine, List<Completion> completions) {
		try {
			List<Settlement> settlements = this.batch.complete(this.run.subject(mine), this.owned.of(mine),
					completions);
			for (int i = 0; i < mine.size(); i++) {
				if (settlements.get(i) != Settlement.SETTLED) {
					lost(mine.get(i));
				}
				else {
					this.claims.completed(this.plan.part(mine.get(i)).operation(), completions.get(i).result());
				}
			}
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
		List<Settlement> settlements = this.batch.fail(this.run.subject(mine), this.owned.of(mine), error);
		for (int i = 0; i < mine.size(); i++) {
			if (settlements.get(i) != Settlement.SETTLED) {
				lost(mine.get(i));
			}
		}
	}

	private void lost(int index) {
		this.plan.undone(index, LeasedClaims.told(this.owned.of(List.of(index)).get(0).lost()));
	}

	void release(List<Integer> parts) {
		List<Integer> mine = this.owned.among(parts);
		if (!mine.isEmpty()) {
			this.batch.release(this.run.subject(mine), this.owned.of(mine));
		}
	}

}
