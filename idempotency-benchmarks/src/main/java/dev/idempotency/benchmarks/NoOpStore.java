package dev.idempotency.benchmarks;

import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * A store without records, which treats every key as completed or every key as new.
 */
final class NoOpStore implements IdempotencyStore {

	private final Claim claim;

	NoOpStore(boolean completed) {
		this.claim = completed ? new Claim.Completed(null) : new Claim.Acquired(1, 1);
	}

	@Override
	public String name() {
		return "none";
	}

	@Override
	public Claim claim(ClaimRequest request) {
		return this.claim;
	}

	@Override
	public Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return Settlement.SETTLED;
	}

	@Override
	public Settlement fail(ClaimRequest claim, Failure failure) {
		throw new IllegalStateException("The handler has failed", new Exception(failure.message()));
	}

	@Override
	public Settlement release(ClaimRequest claim) {
		return Settlement.SETTLED;
	}

	@Override
	public Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		return Settlement.SETTLED;
	}

	@Override
	public Settlement renew(ClaimRequest claim) {
		return Settlement.SETTLED;
	}

	@Override
	public Claim lookUp(ClaimRequest request) {
		return claim(request);
	}

	@Override
	public Optional<IdempotencyRecord> find(IdempotencyKey key) {
		return Optional.empty();
	}

	@Override
	public void ping() {
	}

}
