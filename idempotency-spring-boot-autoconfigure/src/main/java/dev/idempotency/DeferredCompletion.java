package dev.idempotency;

import java.util.Arrays;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

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
	 * Look up what has completed if the transaction commits.
	 * @param key the key
	 * @param fingerprint the fingerprint of the content
	 * @return its completion, {@code null} if it is not here with exactly this
	 * fingerprint
	 */
	Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		for (int i = 0; i < this.claims.size(); i++) {
			ClaimRequest request = this.claims.get(i).request();
			if (request.key().equals(key) && Arrays.equals(request.fingerprint(), fingerprint)) {
				return new Claim.Completed(this.results.get(i));
			}
		}
		return null;
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
	public String toString() {
		return (this.claims.size() == 1) ? this.claims.get(0).operation().toString() : this.claims.size()
				+ " operations of a batch, the first of which is " + this.claims.get(0).operation();
	}

}
