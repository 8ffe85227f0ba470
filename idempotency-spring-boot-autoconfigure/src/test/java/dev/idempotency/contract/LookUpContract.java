package dev.idempotency.contract;

import java.util.Optional;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Look-ups of keys that are not free, for claims of another store.
 */
interface LookUpContract extends StoreContract {

	@Test
	default void absentKeyHasNoAnswer() {
		assertThat(lookUp(Requests.newKey(), null)).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = { "LIVE", "COMPLETED" })
	default void freeKeyHasNoAnswer(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		assertThat(lookUp(key, null)).isEmpty();
	}

	@Test
	default void keyAfterItsRetentionHasNoAnswer() {
		ClaimRequest owner = Requests.request(Requests.newKey(), lease(), retention());
		Requests.acquire(store(), owner);
		store().complete(owner, null);
		letPass(retention());
		assertThat(lookUp(owner.key(), null)).isEmpty();
	}

	@Test
	@Tag("promise-3")
	default void completedKeyHasItsResult() {
		ClaimRequest owner = Requests.request(Requests.newKey());
		Requests.acquire(store(), owner);
		store().complete(owner, new byte[] { 1, 2 });
		assertThat(lookUp(owner.key(), null)).get()
			.isInstanceOfSatisfying(Claim.Completed.class,
					(completed) -> assertThat(completed.result()).containsExactly(1, 2));
	}

	@Test
	@Tag("promise-2")
	default void liveClaimHasTheRestOfItsLease() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		assertThat(lookUp(owner.key(), null)).get()
			.isInstanceOfSatisfying(Claim.InProgress.class,
					(claim) -> assertThat(claim.retryAfter()).isPositive().isLessThanOrEqualTo(Requests.LEASE));
	}

	@Test
	default void ownClaimHasNoAnswer() {
		ClaimRequest owner = Known.LIVE.reach(this, Requests.newKey());
		assertThat(store().lookUp(owner)).isEmpty();
	}

	@ParameterizedTest
	@EnumSource(names = { "LIVE", "COMPLETED" })
	@Tag("promise-9")
	default void lookUpComparesTheContent(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key, "a");
		assertThat(lookUp(key, "b")).contains(new Claim.Mismatch());
		assertThat(lookUp(key, "a")).get().isNotInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@EnumSource
	default void lookUpOfAClaimChangesNothing(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this, key);
		IdempotencyRecord before = record(key);
		lookUp(key, null);
		assertUnchanged(key, before);
	}

	private Optional<Claim> lookUp(IdempotencyKey key, @Nullable String content) {
		return store().lookUp(Requests.request(key, content, Requests.LEASE, Requests.RETENTION));
	}

}
