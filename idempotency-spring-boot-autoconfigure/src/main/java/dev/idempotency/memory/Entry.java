package dev.idempotency.memory;

import java.time.Instant;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;

/**
 * What is remembered of a key.
 *
 * @param token the owner token of the last claim
 * @param state the state; failed without a failure is released
 * @param fence the fencing token of the last claim
 * @param attempt how often the operation has been started since it last completed
 * @param fingerprint the digest of the content, if the last claim had one
 * @param result the result of the completion, if there is one
 * @param failure why the last attempt failed, if it did
 * @param claimedUntil when the last claim runs out
 * @param createdAt when the key was first claimed
 * @param completedAt when the operation was completed, if it is
 * @param expiresAt when the key may be forgotten
 */
record Entry(UUID token, State state, int fence, int attempt, byte @Nullable [] fingerprint, byte @Nullable [] result,
		@Nullable Failure failure, Instant claimedUntil, Instant createdAt, @Nullable Instant completedAt,
		Instant expiresAt) {

	static Entry first(ClaimRequest request, Instant now) {
		return claimed(request, 1, 1, now, now);
	}

	static Entry restored(ClaimRequest request, Claim.Acquired acquired, Instant now) {
		return claimed(request, acquired.fence(), acquired.attempt(), now, now);
	}

	Entry takenOver(ClaimRequest request, Instant now) {
		return claimed(request, this.fence + 1, (this.state != State.COMPLETED) ? this.attempt + 1 : 1, this.createdAt,
				now);
	}

	Entry claimedAgain(ClaimRequest request, Instant now) {
		return claimed(request, this.fence, this.attempt, this.createdAt, now);
	}

	private static Entry claimed(ClaimRequest request, int fence, int attempt, Instant createdAt, Instant now) {
		byte[] fingerprint = request.fingerprint();
		return new Entry(request.token(), State.IN_PROGRESS, fence, attempt,
				(fingerprint != null) ? fingerprint.clone() : null, null, null, now.plus(request.lease()), createdAt,
				null, now.plus(request.retention()));
	}

	Entry completed(byte @Nullable [] result, Instant now) {
		return new Entry(this.token, State.COMPLETED, this.fence, this.attempt, this.fingerprint, result, null,
				this.claimedUntil, this.createdAt, now, this.expiresAt);
	}

	Entry failed(@Nullable Failure failure, int attempt) {
		return new Entry(this.token, State.FAILED, this.fence, attempt, this.fingerprint, null, failure,
				this.claimedUntil, this.createdAt, null, this.expiresAt);
	}

	Entry renewed(Instant claimedUntil) {
		return new Entry(this.token, this.state, this.fence, this.attempt, this.fingerprint, this.result, this.failure,
				claimedUntil, this.createdAt, this.completedAt, this.expiresAt);
	}

	Entry released() {
		return new Entry(UUID.randomUUID(), State.FAILED, this.fence, this.attempt, this.fingerprint, null,
				this.failure, this.claimedUntil, this.createdAt, null, this.expiresAt);
	}

	boolean isOwnedBy(ClaimRequest request) {
		return this.token.equals(request.token());
	}

	boolean isInProgress() {
		return this.state == State.IN_PROGRESS;
	}

	boolean isLive(Instant now) {
		return isInProgress() && now.isBefore(this.claimedUntil);
	}

	boolean isForgettable(Instant now) {
		return !now.isBefore(this.expiresAt) && !isLive(now);
	}

	IdempotencyRecord toRecord(IdempotencyKey key) {
		return new IdempotencyRecord(key, this.state, this.fence, this.attempt,
				isInProgress() ? this.claimedUntil : null, this.createdAt, this.completedAt, this.expiresAt,
				this.failure);
	}

}
