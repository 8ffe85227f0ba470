package dev.idempotency.template;

import java.util.Arrays;
import java.util.List;
import java.util.function.Consumer;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotencyListener.Outcome;

/**
 * A completion of one or more claims that waits for the outcome of the caller's
 * transaction, or for an acknowledgment. It reports its outcome to an observer, once.
 */
final class DeferredCompletion implements PendingCompletion {

	private static final Log logger = LogFactory.getLog(DeferredCompletion.class);

	private final Settlements settlements;

	private final List<OwnedClaim> claims;

	private final List<byte @Nullable []> results;

	// The completions that this one joins. Each reports its own outcome.
	private final List<DeferredCompletion> joined;

	private @Nullable Consumer<Outcome> observer;

	DeferredCompletion(Settlements settlements, List<OwnedClaim> claims, List<byte @Nullable []> results,
			Consumer<Outcome> observer) {
		this.settlements = settlements;
		this.claims = claims;
		this.results = results;
		this.joined = List.of();
		this.observer = observer;
	}

	/**
	 * Join completions, so that the store records or releases all of them with one call.
	 * @param joined the completions, at least one
	 */
	DeferredCompletion(List<DeferredCompletion> joined) {
		this.settlements = joined.get(0).settlements;
		this.claims = joined.stream().flatMap((completion) -> completion.claims.stream()).toList();
		this.results = joined.stream().flatMap((completion) -> completion.results.stream()).toList();
		this.joined = joined;
	}

	List<OwnedClaim> claims() {
		return this.claims;
	}

	@Override
	public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		for (int i = 0; i < this.claims.size(); i++) {
			OwnedClaim claim = this.claims.get(i);
			ClaimRequest request = claim.request();
			if (!claim.execution().ownershipLost() && request.key().equals(key)
					&& Arrays.equals(request.fingerprint(), fingerprint)) {
				return new Claim.Completed(this.results.get(i));
			}
		}
		return null;
	}

	@Override
	public Settlement complete() {
		Settlement settlement = record();
		this.joined.forEach((part) -> part.report(part.outcome()));
		report(settlement);
		return settlement;
	}

	private Settlement record() {
		try {
			List<Settlement> answers = this.settlements.complete(this, this.claims, this.results);
			for (int i = 0; i < answers.size(); i++) {
				if (answers.get(i) == Settlement.LOST) {
					Settlements.logged(this.claims.get(i).lost());
				}
			}
			return answers.contains(Settlement.LOST) ? Settlement.LOST : Settlement.SETTLED;
		}
		catch (OperationBlockedException ex) {
			logger.debug("The completion is pending and is retried", ex);
			return Settlement.SETTLED;
		}
	}

	private void report(@Nullable Settlement settlement) {
		report((settlement == Settlement.LOST) ? Outcome.LOST : Outcome.PROCESSED);
	}

	@Override
	public void release() {
		this.settlements.release(this, this.claims);
		reportFailure();
	}

	@Override
	public void abandon() {
		this.claims.forEach(this.settlements::leave);
		reportFailure();
	}

	private void reportFailure() {
		this.joined.forEach((part) -> part.report(Outcome.FAILED));
		report(Outcome.FAILED);
	}

	private void report(Outcome outcome) {
		Consumer<Outcome> current = this.observer;
		this.observer = null;
		if (current != null) {
			current.accept(outcome);
		}
	}

	@Override
	public @Nullable Settlement outcome() {
		Settlement outcome = Settlement.SETTLED;
		for (OwnedClaim claim : this.claims) {
			Settlement settled = claim.settlement();
			if (settled == null) {
				return null;
			}
			outcome = (settled == Settlement.LOST) ? settled : outcome;
		}
		return outcome;
	}

	@Override
	public String toString() {
		return (this.claims.size() == 1) ? this.claims.get(0).operation().toString() : this.claims.size()
				+ " operations of a batch, the first of which is " + this.claims.get(0).operation();
	}

}
