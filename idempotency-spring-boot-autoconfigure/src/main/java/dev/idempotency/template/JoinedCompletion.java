package dev.idempotency.template;

import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.IdempotencyListener.Outcome;

/**
 * Pending completions that the store records or releases with one call.
 *
 * @param parts the completions
 * @param joined their claims
 */
record JoinedCompletion(List<? extends PendingCompletion> parts,
		DeferredCompletion joined) implements PendingCompletion {

	static JoinedCompletion of(List<? extends PendingCompletion> parts) {
		return new JoinedCompletion(parts,
				DeferredCompletion.join(parts.stream().map(JoinedCompletion::deferred).toList()));
	}

	private static DeferredCompletion deferred(PendingCompletion part) {
		return (DeferredCompletion) ((part instanceof ObservedCompletion observed) ? observed.delegate() : part);
	}

	@Override
	public Settlement complete() {
		Settlement settlement = this.joined.complete();
		for (PendingCompletion part : this.parts) {
			notify(part, (part.outcome() == Settlement.LOST) ? Outcome.LOST : Outcome.PROCESSED);
		}
		return settlement;
	}

	@Override
	public void release() {
		this.joined.release();
		this.parts.forEach((part) -> notify(part, Outcome.FAILED));
	}

	@Override
	public void abandon() {
		this.joined.abandon();
		this.parts.forEach((part) -> notify(part, Outcome.FAILED));
	}

	private static void notify(PendingCompletion part, Outcome outcome) {
		if (part instanceof ObservedCompletion observed) {
			observed.tell(outcome);
		}
	}

	@Override
	public @Nullable Settlement outcome() {
		return this.joined.outcome();
	}

	@Override
	public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
		return this.joined.find(key, fingerprint);
	}

}
