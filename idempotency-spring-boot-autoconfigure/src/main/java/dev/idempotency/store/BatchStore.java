package dev.idempotency.store;

import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Internal;

/**
 * {@link IdempotencyStore} that settles a single claim as a batch of one.
 *
 * @since 0.1.0
 */
@Internal
public interface BatchStore extends IdempotencyStore {

	@Override
	default Settlement complete(ClaimRequest claim, byte @Nullable [] result) {
		return completeAll(List.of(new Completion(claim, result))).get(0);
	}

	@Override
	default Settlement fail(ClaimRequest claim, Failure failure) {
		return failAll(List.of(claim), failure).get(0);
	}

	@Override
	default Settlement release(ClaimRequest claim) {
		return releaseAll(List.of(claim)).get(0);
	}

	@Override
	default Settlement renew(ClaimRequest claim) {
		return renewAll(List.of(claim)).get(0);
	}

	@Override
	List<Settlement> completeAll(List<Completion> completions);

	@Override
	List<Settlement> failAll(List<ClaimRequest> claims, Failure failure);

	@Override
	List<Settlement> releaseAll(List<ClaimRequest> claims);

	@Override
	List<Settlement> renewAll(List<ClaimRequest> claims);

}
