package dev.idempotency.template;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link StoreMigration}. The stores are named by the instances that use them:
 * only the source, both, both with dual writes, or only the target.
 */
class StoreMigrationTests {

	private static final Failure FAILURE = new Failure("java.io.IOException", null);

	private final List<Claim> answers = new ArrayList<>();

	private volatile Instant now = Instant.now();

	private final IdempotencyStore source = new InMemoryIdempotencyStore(() -> this.now);

	private final IdempotencyStore healthyTarget = new InMemoryIdempotencyStore(() -> this.now);

	private final UnreliableStore target = new UnreliableStore(this.healthyTarget);

	private final IdempotencyStore migrating = StoreMigration.of(this.source, this.target, this.answers::add);

	private final IdempotencyStore dual = StoreMigration.withDualWrite(this.source, this.target, this.answers::add);

	private final IdempotencyKey key = TestDatabase.newKey();

	StoreMigrationTests() {
		this.target.showRecords();
	}

	private void pass(Duration time) {
		this.now = this.now.plus(time).plusMillis(1);
	}

	private ClaimRequest request() {
		return TestDatabase.request(this.key);
	}

	private ClaimRequest acquire(IdempotencyStore store) {
		ClaimRequest request = request();
		assertThat(store.claim(request)).isInstanceOf(Claim.Acquired.class);
		return request;
	}

	private ClaimRequest request(long version) {
		ClaimRequest request = request();
		return new ClaimRequest(request.key(), request.token(), null, request.lease(), request.retention(), version);
	}

	private ClaimRequest acquire(IdempotencyStore store, long version) {
		ClaimRequest request = request(version);
		assertThat(store.claim(request)).isInstanceOf(Claim.Acquired.class);
		return request;
	}

	private int fence(IdempotencyStore store, ClaimRequest request) {
		return ((Claim.Acquired) store.claim(request)).fence();
	}

	@Test
	@Tag("promise-3")
	void keyThatTheSourceHasCompletedIsADuplicateAndCounted() {
		this.source.complete(acquire(this.source), new byte[] { 1 });
		for (IdempotencyStore store : List.of(this.migrating, this.dual)) {
			assertThat(store.claim(request())).isInstanceOfSatisfying(Claim.Completed.class,
					(completed) -> assertThat(completed.result()).containsExactly(1));
		}
		assertThat(this.answers).hasSize(2);
		assertThat(this.target.find(this.key)).isEmpty();
	}

	@Test
	@Tag("promise-3")
	void versionThatTheSourceHasCompletedIsStaleWhenTheTargetHasCompletedAHigherOne() {
		this.source.complete(acquire(this.source, 5), new byte[] { 5 });
		this.migrating.complete(acquire(this.migrating, 7), new byte[] { 7 });
		for (IdempotencyStore store : List.of(this.migrating, this.dual)) {
			assertThat(store.claim(request(5))).isEqualTo(new Claim.Stale(7));
			assertThat(store.lookUp(request(5))).isEqualTo(new Claim.Stale(7));
			assertThat(store.claim(request(6))).isEqualTo(new Claim.Stale(7));
			assertThat(store.claim(request(7))).isInstanceOf(Claim.Completed.class);
		}
	}

	@Test
	@Tag("promise-2")
	void keyThatAnOwnerHoldsInTheSourceIsInProgress() {
		acquire(this.source);
		assertThat(this.migrating.claim(request())).isInstanceOf(Claim.InProgress.class);
		assertThat(this.dual.claim(request())).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	void newKeyIsWrittenToTheTargetOnly() {
		ClaimRequest request = acquire(this.migrating);
		assertThat(this.migrating.complete(request, null)).isEqualTo(Settlement.SETTLED);
		assertThat(this.source.find(this.key)).isEmpty();
		assertThat(this.target.claim(request())).isInstanceOf(Claim.Completed.class);
		assertThat(this.answers).isEmpty();
	}

	@Test
	@Tag("promise-3")
	void keyOfADualWriteIsADuplicateForAllInstances() {
		this.dual.complete(acquire(this.dual), new byte[] { 1 });
		for (IdempotencyStore store : List.of(this.source, this.dual, this.migrating, this.target)) {
			assertThat(store.claim(request())).isInstanceOf(Claim.Completed.class);
		}
	}

	@Test
	@Tag("promise-2")
	void claimOfADualWriteExcludesAllInstances() {
		ClaimRequest owner = acquire(this.dual);
		for (IdempotencyStore store : List.of(this.source, this.dual, this.migrating, this.target)) {
			assertThat(store.claim(request())).isInstanceOf(Claim.InProgress.class);
		}
		assertThat(this.dual.release(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(this.source.find(this.key)).get().extracting("state").isEqualTo(State.FAILED);
		assertThat(this.target.find(this.key)).get().extracting("state").isEqualTo(State.FAILED);
	}

	@Test
	@Tag("promise-2")
	void keyThatAnotherOwnerClaimsInTheTargetMeanwhileIsReleasedInTheSource() {
		this.target.before(StoreCall.CLAIM, (claim) -> acquire(this.healthyTarget));
		assertThat(this.dual.claim(request())).isInstanceOf(Claim.InProgress.class);
		assertThat(this.source.find(this.key)).get().extracting("state").isEqualTo(State.FAILED);
	}

	@Test
	@Tag("promise-4")
	void fenceGrowsFromTheSourceOverBothStepsToTheTarget() {
		List<Integer> fences = new ArrayList<>();
		for (IdempotencyStore store : List.of(this.source, this.source, this.dual, this.source, this.dual,
				this.migrating, this.dual, this.migrating, this.target, this.migrating)) {
			ClaimRequest request = request();
			fences.add(fence(store, request));
			assertThat(store.fail(request, FAILURE)).isEqualTo(Settlement.SETTLED);
		}
		assertThat(fences).isSorted().doesNotHaveDuplicates();
	}

	@Test
	@Tag("promise-4")
	void fenceOfAKeyThatFailedInTheSourceGrows() {
		this.source.fail(acquire(this.source), FAILURE);
		ClaimRequest request = request();
		assertThat(this.migrating.claim(request)).isEqualTo(new Claim.Acquired(2, 2));
		assertThat(this.migrating.claim(request)).isEqualTo(new Claim.Acquired(2, 2));
		this.migrating.fail(request, FAILURE);
		assertThat(this.target.claim(request())).isEqualTo(new Claim.Acquired(3, 3));
	}

	@Test
	@Tag("promise-6")
	void completionThatOnlyTheSourceHasIsRepeatedUnderTheLeaseOfTheTarget() {
		ClaimRequest owner = acquire(this.dual);
		this.target.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> this.dual.complete(owner, new byte[] { 1 }));
		assertThat(this.source.claim(request())).isInstanceOf(Claim.Completed.class);
		assertThat(this.dual.renew(owner)).isEqualTo(Settlement.SETTLED);
		this.target.recoverFrom(StoreCall.COMPLETE);
		assertThat(this.dual.complete(owner, new byte[] { 1 })).isEqualTo(Settlement.SETTLED);
		assertThat(this.target.claim(request())).isInstanceOf(Claim.Completed.class);
	}

	@Test
	@Tag("promise-3")
	void completionThatTheTargetHasForgottenIsWrittenAgain() {
		ClaimRequest owner = acquire(this.dual);
		this.healthyTarget.records().orElseThrow().evict(this.key, true);
		assertThat(this.dual.renew(owner)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(this.dual.restore(owner, new Claim.Acquired(1, 1))).isEqualTo(Settlement.SETTLED);
		this.healthyTarget.records().orElseThrow().evict(this.key, true);
		assertThat(this.dual.complete(owner, null)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(this.dual.renew(owner)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(this.dual.restore(owner, new Claim.Acquired(5, 5))).isEqualTo(Settlement.SETTLED);
		assertThat(this.dual.complete(owner, null)).isEqualTo(Settlement.SETTLED);
		assertThat(this.target.find(this.key)).get().satisfies((record) -> {
			assertThat(record.state()).isEqualTo(State.COMPLETED);
			assertThat(record.fence()).isEqualTo(5);
		});
	}

	private void fail(IdempotencyStore store, int times) {
		for (int i = 0; i < times; i++) {
			store.fail(acquire(store), FAILURE);
		}
	}

	@Test
	@Tag("promise-3")
	void completionOfAnotherOwnerSurvivesAConsumerThatPausesWhileItCatchesUp() {
		fail(this.healthyTarget, 1);
		fail(this.source, 4);
		AtomicBoolean first = new AtomicBoolean(true);
		this.target.afterClaim((claim) -> {
			if (first.getAndSet(false)) {
				pass(TestDatabase.LEASE);
				this.healthyTarget.complete(acquire(this.healthyTarget), null);
			}
		});
		assertThat(this.migrating.claim(request())).isInstanceOf(Claim.InProgress.class);
		assertThat(this.migrating.claim(request())).isInstanceOf(Claim.Completed.class);
	}

	@Test
	@Tag("promise-4")
	void ownerIsToldThatAnotherOwnerHasCompletedInTheSource() {
		ClaimRequest zombie = acquire(this.dual);
		pass(TestDatabase.LEASE);
		this.source.complete(acquire(this.source), null);
		assertThat(this.dual.renew(zombie)).isEqualTo(Settlement.LOST);
		assertThat(this.dual.complete(zombie, null)).isEqualTo(Settlement.LOST);
		assertThat(this.target.find(this.key)).get().extracting("state").isEqualTo(State.FAILED);
	}

	@Test
	@Tag("promise-7")
	void keyIsReleasedInTheSourceIfTheTargetDoesNotAnswer() {
		this.target.contend(StoreCall.CLAIM);
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(() -> this.dual.claim(request()));
		this.target.recover();
		assertThat(this.dual.claim(request())).isInstanceOf(Claim.Acquired.class);
	}

	@Test
	@Tag("promise-7")
	void failureIsRecordedInTheTargetIfTheSourceHasForgottenTheKey() {
		ClaimRequest owner = acquire(this.dual);
		this.source.records().orElseThrow().evict(this.key, true);
		assertThat(this.dual.fail(owner, FAILURE)).isEqualTo(Settlement.SETTLED);
		assertThat(this.dual.claim(request())).isInstanceOf(Claim.Acquired.class);
	}

	@Test
	@Tag("promise-2")
	void refusedClaimDoesNotDisturbAnOwnerThatTheSourceHasForgotten() {
		ClaimRequest owner = acquire(this.dual);
		this.source.records().orElseThrow().evict(this.key, true);
		assertThat(this.dual.claim(request())).isInstanceOf(Claim.InProgress.class);
		assertThat(this.source.find(this.key)).isEmpty();
		assertThat(this.dual.renew(owner)).isEqualTo(Settlement.FORGOTTEN);
		assertThat(this.dual.restore(owner, new Claim.Acquired(1, 1))).isEqualTo(Settlement.SETTLED);
		assertThat(this.dual.complete(owner, null)).isEqualTo(Settlement.SETTLED);
	}

}
