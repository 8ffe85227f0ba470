package dev.idempotency.template;

import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.IdempotencyListener.Outcome;

/**
 * Tells what became of a pending completion, once.
 */
final class ObservedCompletion implements PendingCompletion {

	private final PendingCompletion delegate;

	private final Consumer<Outcome> observer;

	private boolean told;

	/**
	 * Create a completion.
	 * @param delegate what is pending
	 * @param observer told how it ended
	 */
	ObservedCompletion(PendingCompletion delegate, Consumer<Outcome> observer) {
		this.delegate = delegate;
		this.observer = observer;
	}

	PendingCompletion delegate() {
		return this.delegate;
	}

	@Override
	public Settlement complete() {
		Settlement settlement = this.delegate.complete();
		tell((settlement == Settlement.SETTLED) ? Outcome.PROCESSED : Outcome.LOST);
		return settlement;
	}

	@Override
	public void release() {
		this.delegate.release();
		tell(Outcome.FAILED);
	}

	@Override
	public void abandon() {
		this.delegate.abandon();
		tell(Outcome.FAILED);
	}

	@Override
	public @Nullable Settlement outcome() {
		return this.delegate.outcome();
	}

	@Override
	public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		return this.delegate.find(key, fingerprint);
	}

	void tell(Outcome outcome) {
		if (!this.told) {
			this.told = true;
			this.observer.accept(outcome);
		}
	}

	@Override
	public String toString() {
		return this.delegate.toString();
	}

}
