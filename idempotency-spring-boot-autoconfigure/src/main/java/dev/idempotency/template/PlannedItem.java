package dev.idempotency.template;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Fingerprint;

/**
 * An item of a {@link BatchPlan}: its claim, and the decision about it.
 */
final class PlannedItem {

	private final int index;

	private final BatchItem item;

	// The first item with the same key, if it is not this one.
	private final @Nullable PlannedItem original;

	private @Nullable Claim claim;

	// The claim was blocked, so the owner of the key is unknown.
	private @Nullable OperationBlockedException claimFailure;

	private Decision decision = Decision.DUE;

	private @Nullable OperationBlockedException reason;

	PlannedItem(int index, BatchItem item, @Nullable PlannedItem original) {
		this.index = index;
		this.item = item;
		this.original = original;
	}

	int index() {
		return this.index;
	}

	Object lane() {
		return this.item.lane();
	}

	@Nullable PlannedItem original() {
		return this.original;
	}

	boolean isProtected() {
		return this.item.operation() != null;
	}

	IdempotentOperation operation() {
		return Objects.requireNonNull(this.item.operation());
	}

	boolean isUnanswered() {
		return isProtected() && this.original == null && this.decision == Decision.DUE && this.claim == null
				&& this.claimFailure == null;
	}

	@Nullable Claim claim() {
		return this.claim;
	}

	void setClaim(Claim answer) {
		this.claim = answer;
	}

	boolean isClaimed() {
		return this.claim instanceof Claim.Acquired;
	}

	void unclaim() {
		if (isClaimed()) {
			this.claim = null;
		}
	}

	void setClaimFailure(OperationBlockedException failure) {
		this.claimFailure = failure;
	}

	boolean isHeldElsewhere() {
		return this.claimFailure != null || this.claim instanceof Claim.InProgress;
	}

	/**
	 * Decide about the item.
	 * @return the claim to replay, {@code null} if there is none
	 * @throws OperationBlockedException if the item is blocked
	 */
	@Nullable Claim decide() {
		this.reason = null;
		if (this.claimFailure != null) {
			throw this.claimFailure;
		}
		if (this.original != null) {
			return decideAsCopy(this.original);
		}
		this.decision = (this.claim != null && !isClaimed()) ? Decision.REPLAYED : Decision.DUE;
		return isDue() ? null : this.claim;
	}

	private @Nullable Claim decideAsCopy(PlannedItem first) {
		IdempotentOperation own = operation();
		if (Fingerprint.differs(own.key(), first.operation().fingerprint(), own.fingerprint())) {
			return new Claim.Mismatch();
		}
		if (first.decision == Decision.LEFT_OUT || first.decision == Decision.BLOCKED) {
			throw new OperationInProgressException("An earlier copy of " + own + " in the same batch is blocked",
					(first.reason != null) ? first.reason.retryAfter() : Duration.ZERO);
		}
		this.decision = (first.decision == Decision.REPLAYED) ? Decision.REPLAYED : Decision.COPY;
		return isCopy() ? null : first.claim;
	}

	boolean isDue() {
		return this.decision == Decision.DUE;
	}

	boolean isCopy() {
		return this.decision == Decision.COPY;
	}

	/**
	 * Leave the item to a later delivery.
	 * @param before the reason why an earlier item of its lane is blocked, {@code null}
	 * if none is
	 */
	void leaveOut(@Nullable OperationBlockedException before) {
		this.decision = Decision.LEFT_OUT;
		this.reason = before;
	}

	void block(OperationBlockedException why) {
		this.decision = Decision.BLOCKED;
		this.reason = why;
	}

	boolean isBlocked() {
		return this.decision == Decision.BLOCKED;
	}

	OperationBlockedException reason() {
		return Objects.requireNonNull(this.reason);
	}

	private enum Decision {

		/**
		 * The handler processes the item.
		 */
		DUE,

		/**
		 * An earlier item with the same key is due.
		 */
		COPY,

		/**
		 * The operation has completed before.
		 */
		REPLAYED,

		/**
		 * The item is redelivered.
		 */
		BLOCKED,

		/**
		 * An earlier item is blocked, has failed or can never be handled.
		 */
		LEFT_OUT

	}

}
