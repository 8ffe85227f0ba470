package dev.idempotency.contract;

import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.provider.Arguments;

import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Completion;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.StoredRecord;
import dev.idempotency.store.Transition;

/**
 * The mutations by an owner.
 */
enum Mutation {

	COMPLETE, FAIL, RELEASE, RENEW;

	Settlement apply(IdempotencyStore store, ClaimRequest claim) {
		return switch (this) {
			case COMPLETE -> store.complete(claim, claim.token().toString().getBytes());
			case FAIL -> store.fail(claim, Requests.FAILURE);
			case RELEASE -> store.release(claim);
			case RENEW -> store.renew(claim);
		};
	}

	Transition<Settlement> transition(@Nullable StoredRecord record, ClaimRequest claim, Instant now) {
		return switch (this) {
			case COMPLETE -> Transition.complete(record, claim, claim.token().toString().getBytes(), now);
			case FAIL -> Transition.fail(record, claim, Requests.FAILURE);
			case RELEASE -> Transition.release(record, claim);
			case RENEW -> Transition.renew(record, claim, now);
		};
	}

	List<Settlement> applyAll(IdempotencyStore store, List<ClaimRequest> claims) {
		return switch (this) {
			case COMPLETE -> store.completeAll(claims.stream()
				.map((claim) -> new Completion(claim, claim.token().toString().getBytes()))
				.toList());
			case FAIL -> store.failAll(claims, Requests.FAILURE);
			case RELEASE -> store.releaseAll(claims);
			case RENEW -> store.renewAll(claims);
		};
	}

	static Stream<Arguments> ofEachKnown() {
		return Arrays.stream(Known.values())
			.flatMap((known) -> Arrays.stream(values()).map((mutation) -> Arguments.of(known, mutation)));
	}

}
