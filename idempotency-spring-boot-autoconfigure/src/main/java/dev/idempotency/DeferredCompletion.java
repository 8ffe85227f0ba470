package dev.idempotency;

import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Claims of leased mode whose handler has run, and whose transaction has not ended.
 */
final class DeferredCompletion implements PendingCompletion {

	private static final Log logger = LogFactory.getLog(DeferredCompletion.class);

	private final LeasedClaims leased;

	private final BatchClaims batch;

	private final List<OwnedClaim> claims;

	private final List<Completion> completions;

	DeferredCompletion(LeasedClaims leased, BatchClaims batch, List<OwnedClaim> claims, List<Completion> completions) {
		this.leased = leased;
		this.batch = batch;
		this.claims = claims;
		this.completions = completions;
	}

	@Override
	public Settlement complete() {
		AtomicBoolean lost = new AtomicBoolean();
		settle(() -> {
			List<Settlement> settlements = this.batch.complete(this, this.claims, this.completions);
			for (int i = 0; i < settlements.size(); i++) {
				OwnedClaim claim = this.claims.get(i);
				if (settlements.get(i) != Settlement.SETTLED) {
					LeasedClaims.told(claim.lost());
					lost.set(true);
				}
				else {
					this.leased.completed(claim.operation(), this.completions.get(i).result());
				}
			}
		});
		return lost.get() ? Settlement.LOST : Settlement.SETTLED;
	}

	@Override
	public void release() {
		settle(() -> this.batch.release(this, this.claims));
	}

	@Override
	public void abandon() {
		this.claims.forEach(this.leased::forget);
	}

	private void settle(Runnable settlement) {
		try {
			if (!this.claims.isEmpty()) {
				this.claims.forEach(this.leased::settling);
				settlement.run();
			}
		}
		catch (OperationBlockedException ex) {
			logger.debug("It is made up for later", ex);
		}
		finally {
			this.claims.forEach(this.leased::forget);
		}
	}

	@Override
	public String toString() {
		return (this.claims.size() == 1) ? this.claims.get(0).operation().toString() : this.claims.size()
				+ " operations of a batch, the first of which is " + this.claims.get(0).operation();
	}

}
