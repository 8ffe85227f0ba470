package dev.idempotency.memory;

import java.time.Duration;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.Settlement;

/**
 * The step from one entry to the next, and what is answered.
 *
 * @param <T> the type of the answer
 * @param next the next entry, {@code null} if the key is still unknown
 * @param answer the answer
 */
record Transition<T>(@Nullable Entry next, T answer) {

	static Transition<Claim> claim(@Nullable Entry entry, ClaimRequest request, Instant now) {
		if (entry == null) {
			return acquired(Entry.first(request, now));
		}
		if (entry.state() == State.COMPLETED && entry.isForgettable(now)) {
			return acquired(entry.takenOver(request, now));
		}
		if (entry.isInProgress() && entry.isOwnedBy(request)) {
			return acquired(entry.claimedAgain(request, now));
		}
		if (entry.state() != State.COMPLETED && !entry.isLive(now)) {
			return acquired(entry.takenOver(request, now));
		}
		if (Fingerprint.differs(request.key(), entry.fingerprint(), request.fingerprint())) {
			return unchanged(entry, new Claim.Mismatch());
		}
		if (entry.state() == State.COMPLETED) {
			byte[] result = entry.result();
			return unchanged(entry, new Claim.Completed((result != null) ? result.clone() : null));
		}
		return unchanged(entry, new Claim.InProgress(Duration.between(now, entry.claimedUntil())));
	}

	private static Transition<Claim> acquired(Entry entry) {
		return new Transition<>(entry, new Claim.Acquired(entry.fence(), entry.attempt()));
	}

	static Transition<Settlement> complete(@Nullable Entry entry, ClaimRequest claim, byte @Nullable [] result,
			Instant now) {
		if (entry == null || !entry.isOwnedBy(claim)) {
			return notOwned(entry);
		}
		if (entry.isInProgress()) {
			return settled(entry.completed((result != null) ? result.clone() : null, now));
		}
		return repeated(entry, entry.state() == State.COMPLETED);
	}

	static Transition<Settlement> fail(@Nullable Entry entry, ClaimRequest claim, Failure failure) {
		if (entry == null || !entry.isOwnedBy(claim)) {
			return notOwned(entry);
		}
		if (entry.isInProgress()) {
			return settled(entry.failed(failure, entry.attempt()));
		}
		return repeated(entry, entry.state() == State.FAILED && entry.failure() != null);
	}

	static Transition<Settlement> release(@Nullable Entry entry, ClaimRequest claim) {
		if (entry == null || !entry.isOwnedBy(claim)) {
			return notOwned(entry);
		}
		if (entry.isInProgress()) {
			return settled(entry.failed(null, entry.attempt() - 1));
		}
		return repeated(entry, entry.state() == State.FAILED && entry.failure() == null);
	}

	static Transition<Settlement> renew(@Nullable Entry entry, ClaimRequest claim, Instant now) {
		if (entry == null || !entry.isOwnedBy(claim) || !entry.isInProgress()) {
			return notOwned(entry);
		}
		return settled(entry.renewed(now.plus(claim.lease())));
	}

	static Transition<Settlement> restore(@Nullable Entry entry, ClaimRequest claim, Claim.Acquired acquired,
			Instant now) {
		return (entry != null) ? renew(entry, claim, now) : settled(Entry.restored(claim, acquired, now));
	}

	private static Transition<Settlement> notOwned(@Nullable Entry entry) {
		return unchanged(entry, (entry != null) ? Settlement.LOST : Settlement.FORGOTTEN);
	}

	private static Transition<Settlement> settled(Entry entry) {
		return new Transition<>(entry, Settlement.SETTLED);
	}

	private static Transition<Settlement> repeated(Entry entry, boolean repetition) {
		return unchanged(entry, repetition ? Settlement.SETTLED : Settlement.LOST);
	}

	private static <T> Transition<T> unchanged(@Nullable Entry entry, T answer) {
		return new Transition<>(entry, answer);
	}

}
