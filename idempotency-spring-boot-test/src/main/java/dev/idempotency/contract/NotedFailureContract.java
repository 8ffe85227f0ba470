package dev.idempotency.contract;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Failures that are recorded after a rollback.
 */
interface NotedFailureContract extends TransactionContract {

	@Test
	@Tag("promise-5")
	default void failureOfAnAbsentKeyIsRecordedAsTheFirstAttempt() {
		IdempotencyKey key = Requests.newKey();
		assertThat(note(key)).isEqualTo(Settlement.SETTLED);
		assertThat(record(key)).satisfies((record) -> {
			assertThat(record.state()).isEqualTo(State.FAILED);
			assertThat(record.attempt()).isOne();
			assertThat(record.failure()).isEqualTo(Requests.FAILURE);
		});
	}

	@Test
	@Tag("promise-5")
	default void nextFailureCountsTheNextAttempt() {
		IdempotencyKey key = Requests.newKey();
		note(key);
		int fence = record(key).fence();
		assertThat(note(key)).isEqualTo(Settlement.SETTLED);
		assertThat(record(key).attempt()).isEqualTo(2);
		assertThat(record(key).fence()).isGreaterThan(fence);
	}

	@Test
	@Tag("promise-5")
	default void keyWithARecordedFailureIsAcquiredForTheNextAttempt() {
		IdempotencyKey key = Requests.newKey();
		note(key);
		assertThat(Requests.acquire(store(), Requests.request(key)).attempt()).isEqualTo(2);
	}

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "COMPLETED" })
	@Tag("promise-3")
	@Tag("promise-4")
	default void failureIsNotRecordedForAKeyThatIsNotClaimable(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		IdempotencyRecord before = record(key);
		assertThat(note(key)).isEqualTo(Settlement.LOST);
		assertUnchanged(key, before);
	}

	@Test
	@Tag("promise-4")
	default void ownerOfAnExpiredClaimIsFencedByARecordedFailure() {
		IdempotencyKey key = Requests.newKey();
		ClaimRequest zombie = Known.EXPIRED.reach(this, key);
		assertThat(note(key)).isEqualTo(Settlement.SETTLED);
		assertThat(store().complete(zombie, null)).isEqualTo(Settlement.LOST);
	}

	@Test
	@Tag("promise-3")
	default void failureIsNotRecordedWhileAnotherTransactionHoldsTheKey() {
		IdempotencyKey key = Requests.newKey();
		commit(() -> {
			insert(key);
			elsewhere(() -> assertThat(note(key)).isEqualTo(Settlement.LOST));
			return null;
		});
		assertThat(record(key).state()).isEqualTo(State.COMPLETED);
	}

	private Settlement note(IdempotencyKey key) {
		return store().noteFailure(Requests.request(key), Requests.FAILURE);
	}

}
