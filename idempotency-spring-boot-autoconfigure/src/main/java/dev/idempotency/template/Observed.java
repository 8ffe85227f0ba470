package dev.idempotency.template;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.template.IdempotencyListener.Execution;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * Tells how the handling of one operation ended.
 */
final class Observed {

	private final IdempotencyListener listener;

	private final Attempt<?, ?> attempt;

	private final OperationContext.@Nullable OpenContext context;

	private final long start = System.nanoTime();

	private Outcome outcome = Outcome.FAILED;

	private boolean unprotected;

	private boolean deferred;

	Observed(IdempotencyListener listener, OperationContext context, Attempt<?, ?> attempt) {
		this.listener = listener;
		this.attempt = attempt;
		this.context = context.begin(attempt.operation());
	}

	void ended(IdempotentResult<?> executed) {
		this.outcome = executed.duplicate() ? Outcome.DUPLICATE : Outcome.PROCESSED;
	}

	void unprotected() {
		this.unprotected = true;
	}

	/**
	 * Wait with what is told until the transaction of the caller has ended.
	 * @param deferral who gets the completion, if there is such a transaction
	 * @return the same, but observed
	 */
	@Nullable Deferral deferred(@Nullable Deferral deferral) {
		if (deferral == null) {
			return null;
		}
		return new Deferral() {

			@Override
			public boolean isNeeded() {
				return deferral.isNeeded();
			}

			@Override
			public void defer(PendingCompletion pending) {
				Observed.this.deferred = true;
				deferral.defer(new ObservedCompletion(pending, (ended) -> {
					Observed.this.deferred = false;
					Observed.this.outcome = ended;
					tell();
				}));
			}

		};
	}

	void failed(Throwable error) {
		this.outcome = this.attempt.failedWith(error) ? Outcome.FAILED : outcome(error);
	}

	/**
	 * An asynchronous operation has signalled.
	 * @param executed what came of it
	 * @param error why it failed
	 */
	void signalled(@Nullable IdempotentResult<?> executed, @Nullable Throwable error) {
		if (executed != null) {
			ended(executed);
		}
		else if (error instanceof OwnershipLostException) {
			this.outcome = Outcome.LOST;
		}
		tell();
	}

	void tell() {
		if (this.deferred) {
			return;
		}
		Execution execution = new Execution(this.attempt.operation().name(), this.attempt.operation().mode(),
				this.attempt.operation().key(), this.unprotected ? Outcome.UNPROTECTED : this.outcome,
				Duration.ofNanos(System.nanoTime() - this.start), this.attempt.number());
		this.listener.executed(execution);
		if (this.context != null) {
			this.context.ended(execution);
		}
	}

	/**
	 * The thread that began the operation leaves it.
	 */
	void leave() {
		if (this.context != null) {
			this.context.close();
		}
	}

	static Outcome outcome(Throwable error) {
		if (error instanceof OperationInProgressException) {
			return Outcome.IN_PROGRESS;
		}
		if (error instanceof OwnershipLostException) {
			return Outcome.LOST;
		}
		if (error instanceof IdempotencyRecordUnreadableException) {
			return Outcome.UNREADABLE;
		}
		if (error instanceof IdempotencyStoreUnavailableException) {
			return Outcome.UNAVAILABLE;
		}
		if (error instanceof IdempotencyStoreRefusedException) {
			return Outcome.REFUSED;
		}
		return (error instanceof OperationRejectedException) ? Outcome.REJECTED : Outcome.FAILED;
	}

}
