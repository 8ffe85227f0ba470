package dev.idempotency.jdbc;

import java.util.function.BiFunction;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.Failure;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStore;
import dev.idempotency.Settlement;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for what {@link JdbcIdempotencyStore} answers to those who do not own a key.
 */
@Tag("promise-4")
class FencingTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest zombie = TestDatabase.request(this.key);

	private final ClaimRequest owner = TestDatabase.request(this.key);

	static Stream<Named<BiFunction<IdempotencyStore, ClaimRequest, Settlement>>> mutations() {
		return Stream.of(Named.of("complete", (store, claim) -> store.complete(claim, new byte[] { 9 })),
				Named.of("fail", (store, claim) -> store.fail(claim, new Failure("zombie", "zombie"))),
				Named.of("release", IdempotencyStore::release), Named.of("renew", IdempotencyStore::renew));
	}

	private void takeOver() {
		database.store().claim(this.zombie);
		database.endLease(this.key);
		assertThat(database.store().claim(this.owner)).isEqualTo(new Claim.Acquired(2, 2));
	}

	private void assertLost(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation, ClaimRequest by) {
		String row = database.row(this.key);
		assertThat(mutation.apply(database.store(), by)).isEqualTo(Settlement.LOST);
		assertThat(database.row(this.key)).isEqualTo(row);
	}

	@ParameterizedTest
	@MethodSource("mutations")
	void zombieChangesNothingOfALiveClaim(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation) {
		takeOver();
		assertLost(mutation, this.zombie);
	}

	@ParameterizedTest
	@MethodSource("mutations")
	void zombieChangesNothingOfACompletedKey(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation) {
		takeOver();
		database.store().complete(this.owner, null);
		assertLost(mutation, this.zombie);
	}

	@ParameterizedTest
	@MethodSource("mutations")
	void zombieChangesNothingOfAFailedKey(BiFunction<IdempotencyStore, ClaimRequest, Settlement> mutation) {
		takeOver();
		database.store().fail(this.owner, new Failure("second", null));
		assertLost(mutation, this.zombie);
	}

	@Test
	void ownerThatFailedNeitherCompletesNorRenews() {
		database.store().claim(this.owner);
		database.store().fail(this.owner, new Failure("first", null));
		assertLost((store, claim) -> store.complete(claim, null), this.owner);
		assertLost(IdempotencyStore::renew, this.owner);
	}

}
