package dev.idempotency.contract;

import java.util.Arrays;
import java.util.stream.Stream;

import org.junit.jupiter.params.provider.Arguments;

import dev.idempotency.ClaimRequest;
import dev.idempotency.IdempotencyStore;
import dev.idempotency.Settlement;

/**
 * What an owner can do to a record.
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

	static Stream<Arguments> ofEachKnown() {
		return Arrays.stream(Known.values())
			.flatMap((known) -> Arrays.stream(values()).map((mutation) -> Arguments.of(known, mutation)));
	}

}
