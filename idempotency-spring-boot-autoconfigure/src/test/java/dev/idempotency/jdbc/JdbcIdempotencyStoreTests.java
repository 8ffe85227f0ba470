package dev.idempotency.jdbc;

import java.time.Duration;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.Failure;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the claims of {@link JdbcIdempotencyStore}.
 */
class JdbcIdempotencyStoreTests {

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
	void absentKeyIsAcquired() {
		assertThat(store.claim(this.first)).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	@Tag("promise-2")
	void liveClaimAnswersInProgressWithTheRestOfItsLease() {
		store.claim(this.first);
		assertThat(claimAgain()).isInstanceOfSatisfying(Claim.InProgress.class,
				(claim) -> assertThat(claim.retryAfter()).isBetween(Duration.ofSeconds(50), TestDatabase.LEASE));
	}

	@Test
	@Tag("promise-7")
	void claimWhoseLeaseRanOutIsTakenOver() {
		store.claim(TestDatabase.request(this.key, Duration.ofMillis(300)));
		assertThat(claimAgain()).isInstanceOf(Claim.InProgress.class);
		await().atMost(Duration.ofSeconds(5))
			.pollInterval(Duration.ofMillis(10))
			.until(this::claimAgain, new Claim.Acquired(2, 2)::equals);
	}

	@Test
	@Tag("promise-3")
	void completedKeyAnswersWithItsResult() {
		store.claim(this.first);
		store.complete(this.first, RESULT);
		assertThat(claimAgain()).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).isEqualTo(RESULT));
	}

	@Test
	void keyCompletedWithoutResultAnswersWithNone() {
		store.claim(this.first);
		store.complete(this.first, null);
		assertThat(claimAgain()).isEqualTo(new Claim.Completed(null));
	}

	@Test
	@Tag("promise-3")
	void completedKeyIsAcquiredAnewAfterItsRetention() {
		store.claim(this.first);
		store.fail(this.first, FAILURE);
		ClaimRequest second = TestDatabase.request(this.key);
		store.claim(second);
		store.complete(second, RESULT);
		database.endRetention(this.key);
		assertThat(claimAgain()).isEqualTo(new Claim.Acquired(3, 1));
	}

	@Test
	@Tag("promise-2")
	void liveClaimOutlivesItsRetention() {
		store.claim(this.first);
		database.endRetention(this.key);
		assertThat(claimAgain()).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	void sameKeyInTwoScopesIsTwoOperations() {
		store.claim(this.first);
		IdempotencyKey other = IdempotencyKey.of("other", this.key.value());
		assertThat(store.claim(TestDatabase.request(other))).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	void unknownKeyIsNotFound() {
		assertThat(store.find(this.key)).isEmpty();
	}

	@ParameterizedTest
	@ValueSource(strings = { "it's; DROP TABLE idempotency_record --", "\"q\" \\ $1 ? :name {d}", "\uD83D\uDE80 Zoë",
			"a%b_c" })
	void oddCharactersAreKept(String text) {
		IdempotencyKey odd = IdempotencyKey.of(text, text + Servers.unique("."));
		store.claim(TestDatabase.request(odd));
		assertThat(storedKey(odd)).isEqualTo(odd.value());
	}

	@Test
	void longestKeyIsKept() {
		IdempotencyKey longest = IdempotencyKey.of("\uFFE5".repeat(512), "\uFFE5".repeat(512));
		store.claim(TestDatabase.request(longest));
		assertThat(storedKey(longest)).isEqualTo(longest.value());
	}

	private static String storedKey(IdempotencyKey key) {
		return database.jdbc()
			.queryForObject("SELECT key FROM idempotency_record WHERE scope = ? AND id = ?", String.class, key.scope(),
					key.id());
	}

}
