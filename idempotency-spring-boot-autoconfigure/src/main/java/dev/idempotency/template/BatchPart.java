package dev.idempotency.template;

import java.time.Duration;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Fingerprint;

/**
 * One part of a {@link BatchPlan}.
 */
final class BatchPart {

	private final int index;

	private final BatchItem item;

	// The first part with the same key, if it is not this one.
	private final @Nullable BatchPart origin;

	private @Nullable Claim claim;

	// Nobody can say whose the key is.
	private @Nullable OperationBlockedException blocked;

	private Fate fate = Fate.DUE;

	private @Nullable OperationBlockedException reason;

	BatchPart(int index, BatchItem item, @Nullable BatchPart origin) {
		this.index = index;
		this.item = item;
		this.origin = origin;
	}

	int index() {
		return this.index;
	}

	Object lane() {
		return this.item.lane();
	}

	@Nullable BatchPart origin() {
		return this.origin;
	}

	boolean isProtected() {
		return this.item.operation() != null;
	}

	IdempotentOperation operation() {
		return Objects.requireNonNull(this.item.operation());
	}

	boolean isUnanswered() {
		return isProtected() && this.origin == null && this.fate == Fate.DUE && this.claim == null
				&& this.blocked == null;
	}

	void answer(Claim answer) {
		this.claim = answer;
	}

	@Nullable Claim claim() {
		return this.claim;
	}

	boolean isClaimed() {
		return this.claim instanceof Claim.Acquired;
	}

	void unclaim() {
		if (isClaimed()) {
			this.claim = null;
		}
	}

	void block(OperationBlockedException why) {
		this.blocked = why;
	}

	boolean isBlocked() {
		return this.blocked != null || this.claim instanceof Claim.InProgress;
	}

	/**
	 * Decide what is to become of it.
	 * @return what the store has answered, if it is not to run
	 * @throws OperationBlockedException if it has to wait
	 */
	@Nullable Claim decide() {
		this.reason = null;
		if (this.blocked != null) {
			throw this.blocked;
		}
		if (this.origin != null) {
			return decideAsCopy(this.origin);
		}
		this.fate = (isProtected() && !isClaimed() && this.claim != null) ? Fate.ANSWERED : Fate.DUE;
		return (this.fate == Fate.ANSWERED) ? this.claim : null;
	}

	private @Nullable Claim decideAsCopy(BatchPart first) {
		IdempotentOperation own = operation();
		if (Fingerprint.differs(own.key(), first.operation().fingerprint(), own.fingerprint())) {
			return new Claim.Mismatch();
		}
		if (first.fate == Fate.LEFT_OUT || first.fate == Fate.WAITING) {
			throw new OperationInProgressException("An earlier copy of the same batch waits: " + operation(),
					(first.reason != null) ? first.reason.retryAfter() : Duration.ZERO);
		}
		this.fate = (first.fate == Fate.ANSWERED) ? Fate.ANSWERED : Fate.COPY;
		return (this.fate == Fate.ANSWERED) ? first.claim : null;
	}

	boolean isDue() {
		return this.fate == Fate.DUE;
	}

	boolean isCopy() {
		return this.fate == Fate.COPY;
	}

	/**
	 * Leave it for a later delivery.
	 * @param before why an earlier part of its lane waits, {@code null} if none does
	 */
	void leaveOut(@Nullable OperationBlockedException before) {
		this.fate = Fate.LEFT_OUT;
		this.reason = before;
	}

	void makeWait(OperationBlockedException why) {
		this.fate = Fate.WAITING;
		this.reason = why;
	}

	boolean isWaiting() {
		return this.fate == Fate.WAITING;
	}

	OperationBlockedException reason() {
		return Objects.requireNonNull(this.reason);
	}

	private enum Fate {

		/**
		 * The handler gets it.
		 */
		DUE,

		/**
		 * An earlier part with the same key is due.
		 */
		COPY,

		/**
		 * The store knows the operation.
		 */
		ANSWERED,

		/**
		 * It has to wait.
		 */
		WAITING,

		/**
		 * It comes after one that waits, failed or can never be handled.
		 */
		LEFT_OUT

	}

}
