package dev.idempotency.contract;

import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
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

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	default void completionThatTheHandlerHasCommittedIsUndoneWithoutAnAttempt() {
		ClaimRequest inserted = Requests.request(Requests.newKey());
		ClaimRequest batched = Requests.request(Requests.newKey());
		ClaimRequest retried = Requests.request(Requests.newKey());
		note(retried.key());
		commit(() -> {
			store().insert(inserted);
			store().insertAll(List.of(batched));
			return store().claimAllInTransaction(List.of(retried), false).get(0);
		});
		List<ClaimRequest> own = List.of(inserted, batched, retried);
		store().undoAll(own, List.of());
		store().undoAll(own, List.of());
		assertThat(own).allSatisfy((claim) -> {
			assertThat(record(claim.key()).state()).isEqualTo(State.FAILED);
			assertThat(record(claim.key()).completedAt()).isNull();
			assertThat(record(claim.key()).failure()).isNull();
		});
		assertThat(own).extracting((claim) -> record(claim.key()).attempt()).containsExactly(0, 0, 1);
		assertThat(store().noteFailures(own, Requests.FAILURE)).containsOnly(Settlement.SETTLED);
		assertThat(own).extracting((claim) -> record(claim.key()).attempt()).containsExactly(1, 1, 2);
	}

	@Test
	@Tag("promise-3")
	default void completionOfAnotherOwnerIsNotUndone() {
		ClaimRequest other = Requests.request(Requests.newKey());
		commit(() -> store().insert(other));
		IdempotencyRecord before = record(other.key());
		store().undoAll(List.of(Requests.request(other.key()), Requests.request(Requests.newKey())), List.of());
		assertUnchanged(other.key(), before);
	}

	// An error at the commit may have left the completion.
	@Test
	@Tag("promise-3")
	default void failureIsNotNotedForTheCompletionOfTheSameRequest() {
		ClaimRequest own = Requests.request(Requests.newKey());
		commit(() -> store().insert(own));
		IdempotencyRecord before = record(own.key());
		assertThat(store().noteFailures(List.of(own), Requests.FAILURE)).containsExactly(Settlement.LOST);
		assertUnchanged(own.key(), before);
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-5")
	default void repeatedClaimInATransactionKeepsItsFenceAndItsAttempt(boolean joined) {
		ClaimRequest own = Requests.request(Requests.newKey());
		note(own.key());
		Claim claim = commit(() -> store().claimAllInTransaction(List.of(own), joined).get(0));
		assertThat(commit(() -> store().claimAllInTransaction(List.of(own), joined).get(0))).isEqualTo(claim);
		assertThat(commit(() -> store().claimAllInTransaction(List.of(own), joined))).containsExactly(claim);
	}

	private Settlement note(IdempotencyKey key) {
		return store().noteFailures(List.of(Requests.request(key)), Requests.FAILURE).get(0);
	}

}
