package dev.idempotency.jdbc;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.Failure;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecord;
import dev.idempotency.IdempotencyRecord.State;
import dev.idempotency.Settlement;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for how the owner of a key settles it with {@link JdbcIdempotencyStore}.
 */
class SettlementTests {

	private static final byte[] RESULT = { 1, 2, 3 };

	private static final Failure FAILURE = new Failure("java.io.IOException", "no route");

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static JdbcIdempotencyStore store;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest first = TestDatabase.request(this.key);

	@BeforeAll
	static void createDatabase() {
		store = database.store();
	}

	private Claim claimAgain() {
		return store.claim(TestDatabase.request(this.key));
	}

	@Test
	void repeatedCompletionByTheOwnerIsSettledAgain() {
		store.claim(this.first);
		assertThat(store.complete(this.first, RESULT)).isEqualTo(Settlement.SETTLED);
		assertThat(store.complete(this.first, RESULT)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	void ownerWhoseLeaseRanOutCompletesWhenNobodyTookOver() {
		store.claim(this.first);
		database.endLease(this.key);
		assertThat(store.complete(this.first, RESULT)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	@Tag("promise-3")
	void completedKeyCannotBeFailedReleasedOrRenewed() {
		store.claim(this.first);
		store.complete(this.first, RESULT);
		String row = database.row(this.key);
		assertThat(store.fail(this.first, FAILURE)).isEqualTo(Settlement.LOST);
		assertThat(store.release(this.first)).isEqualTo(Settlement.LOST);
		assertThat(store.renew(this.first)).isEqualTo(Settlement.LOST);
		assertThat(database.row(this.key)).isEqualTo(row);
	}

	@Test
	void failedKeyIsAcquiredAtOnceWithTheNextFenceAndAttempt() {
		store.claim(this.first);
		store.fail(this.first, FAILURE);
		assertThat(claimAgain()).isEqualTo(new Claim.Acquired(2, 2));
	}

	@Test
	void failedKeyTellsWhy() {
		store.claim(this.first);
		store.fail(this.first, FAILURE);
		assertThat(database.record(this.key)).extracting(IdempotencyRecord::state, IdempotencyRecord::failure)
			.containsExactly(State.FAILED, FAILURE);
	}

	@Test
	void nextClaimForgetsTheFailure() {
		store.claim(this.first);
		store.fail(this.first, FAILURE);
		claimAgain();
		assertThat(database.record(this.key).failure()).isNull();
	}

	@Test
	void releasedKeyIsAcquiredAtOnceWithoutCountingAnAttempt() {
		store.claim(this.first);
		assertThat(store.release(this.first)).isEqualTo(Settlement.SETTLED);
		assertThat(claimAgain()).isEqualTo(new Claim.Acquired(2, 1));
	}

	@Test
	@Tag("promise-7")
	void renewedClaimLivesForAnotherLease() {
		store.claim(this.first);
		database.endLease(this.key);
		assertThat(store.renew(this.first)).isEqualTo(Settlement.SETTLED);
		assertThat(claimAgain()).isInstanceOf(Claim.InProgress.class);
	}

}
