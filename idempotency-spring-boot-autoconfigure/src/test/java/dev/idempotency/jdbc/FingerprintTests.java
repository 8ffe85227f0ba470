package dev.idempotency.jdbc;

import java.util.function.BiConsumer;
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
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the comparison of fingerprints in {@link JdbcIdempotencyStore}.
 */
@Tag("promise-9")
class FingerprintTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	static Stream<Named<BiConsumer<IdempotencyStore, ClaimRequest>>> states() {
		return Stream.of(Named.of("in progress", (store, claim) -> {
		}), Named.of("completed", (store, claim) -> store.complete(claim, null)),
				Named.of("failed", (store, claim) -> store.fail(claim, new Failure("x", null))),
				Named.of("run out", (store, claim) -> database.endLease(claim.key())));
	}

	@ParameterizedTest
	@MethodSource("states")
	void otherContentIsAMismatch(BiConsumer<IdempotencyStore, ClaimRequest> state) {
		claimedWith("a", state);
		assertThat(claim("b")).isEqualTo(new Claim.Mismatch());
	}

	@ParameterizedTest
	@MethodSource("states")
	void mismatchChangesNothing(BiConsumer<IdempotencyStore, ClaimRequest> state) {
		claimedWith("a", state);
		String row = database.row(this.key);
		claim("b");
		assertThat(database.row(this.key)).isEqualTo(row);
	}

	@ParameterizedTest
	@MethodSource("states")
	void sameContentIsNoMismatch(BiConsumer<IdempotencyStore, ClaimRequest> state) {
		claimedWith("a", state);
		assertThat(claim("a")).isNotInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@MethodSource("states")
	void requestWithoutFingerprintComparesNothing(BiConsumer<IdempotencyStore, ClaimRequest> state) {
		claimedWith("a", state);
		assertThat(claim(null)).isNotInstanceOf(Claim.Mismatch.class);
	}

	@ParameterizedTest
	@MethodSource("states")
	void recordWithoutFingerprintComparesNothing(BiConsumer<IdempotencyStore, ClaimRequest> state) {
		claimedWith(null, state);
		assertThat(claim("b")).isNotInstanceOf(Claim.Mismatch.class);
	}

	@Test
	void otherContentIsANewOperationAfterTheRetention() {
		claimedWith("a", (store, claim) -> store.complete(claim, null));
		database.endRetention(this.key);
		assertThat(claim("b")).isEqualTo(new Claim.Acquired(2, 1));
	}

	private void claimedWith(String content, BiConsumer<IdempotencyStore, ClaimRequest> state) {
		ClaimRequest request = TestDatabase.request(this.key, content);
		database.store().claim(request);
		state.accept(database.store(), request);
	}

	private Claim claim(String content) {
		return database.store().claim(TestDatabase.request(this.key, content));
	}

}
