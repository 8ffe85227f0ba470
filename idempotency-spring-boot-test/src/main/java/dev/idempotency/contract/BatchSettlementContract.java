package dev.idempotency.contract;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Completion;
import dev.idempotency.store.IdempotencyStore.Settlement;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Settlements of several claims in one call. Each claim is settled independently.
 */
interface BatchSettlementContract extends StoreContract {

	@ParameterizedTest
	@EnumSource
	@Tag("promise-4")
	default void lostKeysOfABatchStayAndTheOthersAreSettled(Mutation mutation) {
		ClaimRequest zombie = Known.EXPIRED.reach(this, Requests.newKey());
		Known.LIVE.reach(this, zombie.key());
		ClaimRequest live = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest stranger = Requests.request(Known.LIVE.reach(this, Requests.newKey()).key());
		ClaimRequest late = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest absent = Requests.request(Requests.newKey());
		List<ClaimRequest> lost = List.of(zombie, stranger);
		List<IdempotencyRecord> before = lost.stream().map((claim) -> record(claim.key())).toList();
		List<ClaimRequest> batch = List.of(zombie, live, late, stranger, absent);
		assertThat(mutation.applyAll(store(), batch)).containsExactly(Settlement.LOST, Settlement.SETTLED,
				Settlement.SETTLED, Settlement.LOST, Settlement.FORGOTTEN);
		before.forEach((record) -> assertUnchanged(record.key(), record));
		assertThat(store().find(absent.key())).isEmpty();
		assertIsDone(mutation, live);
		assertIsDone(mutation, late);
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-2")
	@Tag("promise-4")
	default void claimsOfOneKeyInABatchAreSettledByTheirTokens(Mutation mutation) {
		ClaimRequest zombie = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest owner = Known.LIVE.reach(this, zombie.key());
		assertThat(mutation.applyAll(store(), List.of(zombie, owner))).containsExactly(Settlement.LOST,
				Settlement.SETTLED);
		ClaimRequest earlier = Known.EXPIRED.reach(this, Requests.newKey());
		ClaimRequest later = Known.LIVE.reach(this, earlier.key());
		assertThat(mutation.applyAll(store(), List.of(later, earlier))).containsExactly(Settlement.SETTLED,
				Settlement.LOST);
		if (mutation == Mutation.COMPLETE) {
			assertThat(((Claim.Completed) store().claim(Requests.request(owner.key()))).result()).asString()
				.isEqualTo(owner.token().toString());
		}
	}

	private void assertIsDone(Mutation mutation, ClaimRequest owner) {
		IdempotencyRecord record = record(owner.key());
		Failure failure = (mutation == Mutation.FAIL) ? Requests.FAILURE : null;
		assertThat(record.state()).isEqualTo(switch (mutation) {
			case COMPLETE -> State.COMPLETED;
			case FAIL, RELEASE -> State.FAILED;
			case RENEW -> State.IN_PROGRESS;
		});
		assertThat(record.failure()).isEqualTo(failure);
		assertThat(record.completedAt() != null).isEqualTo(mutation == Mutation.COMPLETE);
		assertThat(record.attempt()).isEqualTo((mutation == Mutation.RELEASE) ? 0 : 1);
	}

	@Test
	@Tag("promise-8")
	default void eachCompletionOfABatchHasItsOwnResult() {
		List<byte[]> results = new ArrayList<>(List.of(new byte[] { 1, 0, -1 }, new byte[0], new byte[65536]));
		results.add(1, null);
		List<Completion> completions = results.stream()
			.map((result) -> new Completion(Known.LIVE.reach(this, Requests.newKey()), result))
			.toList();
		store().completeAll(completions);
		assertThat(completions).allSatisfy((completion) -> {
			Claim claim = store().claim(Requests.request(completion.claim().key()));
			assertThat(claim).isInstanceOf(Claim.Completed.class);
			assertThat(((Claim.Completed) claim).result()).isEqualTo(completion.result());
		});
	}

	@Test
	default void releasedKeysOfABatchCountNoAttemptAndFailedKeysDo() {
		ClaimRequest failed = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest released = Known.LIVE.reach(this, Requests.newKey());
		store().failAll(List.of(failed), Requests.FAILURE);
		store().releaseAll(List.of(released));
		assertThat(Requests.acquire(store(), Requests.request(failed.key())).attempt()).isEqualTo(2);
		assertThat(Requests.acquire(store(), Requests.request(released.key())).attempt()).isOne();
	}

	@Test
	default void failureWithoutMessageIsStoredForABatch() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		Failure failure = new Failure("com.example.Silent", null);
		store().failAll(List.of(owner), failure);
		assertThat(record(owner.key()).failure()).isEqualTo(failure);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "RENEW")
	default void repeatedSettlementsOfABatchAreSettledAndChangeNothing(Mutation mutation) {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		ClaimRequest later = Known.LIVE.reach(this, Requests.newKey());
		mutation.apply(store(), owner);
		IdempotencyRecord before = record(owner.key());
		assertThat(mutation.applyAll(store(), List.of(later, owner))).containsOnly(Settlement.SETTLED);
		assertUnchanged(owner.key(), before);
		assertThat(mutation.applyAll(store(), List.of(later, owner))).containsOnly(Settlement.SETTLED);
		assertUnchanged(owner.key(), before);
	}

	@Test
	@Tag("promise-3")
	default void repeatedCompletionsOfABatchKeepTheFirstResults() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		store().completeAll(List.of(new Completion(owner, new byte[] { 1 })));
		store().completeAll(List.of(new Completion(owner, new byte[] { 2 })));
		assertThat(store().claim(owner)).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).containsExactly(1));
	}

	@ParameterizedTest
	@EnumSource
	default void emptyBatchOfSettlementsReturnsNoOutcome(Mutation mutation) {
		assertThat(mutation.applyAll(store(), Collections.emptyList())).isEmpty();
	}

}
