package dev.idempotency.contract;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Completion;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.Settlement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

/**
 * What a store does that may not change anything.
 */
interface RefusalContract extends StoreContract {

	/**
	 * A store of the same records that is refused each change, as one without the
	 * privileges is.
	 * @return the store; empty if there is none, and refusals are not tested
	 */
	default Optional<IdempotencyStore> refused() {
		return Optional.empty();
	}

	@Test
	default void refusalIsNoOutageAndChangesNothing() {
		Optional<IdempotencyStore> without = refused();
		assumeTrue(without.isPresent(), "Override refused() to test that a refusal is no outage");
		IdempotencyStore refused = without.orElseThrow();
		ClaimRequest owned = Requests.request(Requests.newKey());
		Claim.Acquired acquired = Requests.acquire(store(), owned);
		IdempotencyRecord before = record(owned.key());
		ClaimRequest absent = Requests.request(Requests.newKey());
		Stream
			.<ThrowingCallable>of(() -> refused.claim(absent), () -> refused.claimAll(List.of(absent)),
					() -> refused.restore(absent, acquired), () -> refused.complete(owned, null),
					() -> refused.completeAll(List.of(new Completion(owned, null))),
					() -> refused.fail(owned, Requests.FAILURE), () -> refused.release(owned),
					() -> refused.renew(owned), () -> refused.renewAll(List.of(owned)))
			.forEach((call) -> assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(call));
		assertThat(store().find(absent.key())).isEmpty();
		assertUnchanged(owned.key(), before);
		assertThat(store().complete(owned, null)).isEqualTo(Settlement.SETTLED);
	}

}
