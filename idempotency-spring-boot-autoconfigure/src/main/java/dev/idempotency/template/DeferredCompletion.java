package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Settlement;

/**
 * Completions that wait for the outcome of the caller's transaction.
 */
final class DeferredCompletion implements PendingCompletion {

	private static final Log logger = LogFactory.getLog(DeferredCompletion.class);

	private final Settlements settlements;

	private final List<OwnedClaim> claims;

	private final List<byte @Nullable []> results;

	DeferredCompletion(Settlements settlements, List<OwnedClaim> claims, List<byte @Nullable []> results) {
		this.settlements = settlements;
		this.claims = claims;
		this.results = results;
	}

	/**
	 * Join completions.
	 * @param completions the completions, at least one
	 * @return all of them
	 */
	static DeferredCompletion join(List<DeferredCompletion> completions) {
		List<OwnedClaim> claims = new ArrayList<>();
		List<byte @Nullable []> results = new ArrayList<>();
		for (DeferredCompletion completion : completions) {
			claims.addAll(completion.claims);
			results.addAll(completion.results);
		}
		return new DeferredCompletion(completions.get(0).settlements, claims, results);
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

	List<OwnedClaim> claims() {
		return this.claims;
	}

	/**
	 * Find a claim that another owner has taken over.
	 * @return the first one, {@code null} if none is known
	 */
	@Nullable OwnedClaim lost() {
		return this.claims.stream().filter((claim) -> claim.execution().ownershipLost()).findFirst().orElse(null);
	}

	@Override
	public Settlement complete() {
		if (this.claims.isEmpty()) {
			return Settlement.SETTLED;
		}
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
			logger.debug("It is retried", ex);
			return Settlement.SETTLED;
		}
	}

	@Override
	public void release() {
		if (!this.claims.isEmpty()) {
			this.settlements.release(this, this.claims);
		}
	}

	@Override
	public void abandon() {
		this.claims.forEach(this.settlements::leave);
	}

	@Override
	public @Nullable Settlement outcome() {
		Settlement outcome = Settlement.SETTLED;
		for (OwnedClaim claim : this.claims) {
			Settlement settled = claim.outcome();
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
