package dev.idempotency.jdbc;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.ClaimRequest;
import dev.idempotency.Failure;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecord.State;
import dev.idempotency.Settlement;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the failures that {@link JdbcIdempotencyStore} notes after a rollback.
 */
@Tag("promise-5")
class NotedFailureTests {

	private static final Failure FAILURE = new Failure("java.io.IOException", "no route");

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static JdbcIdempotencyStore store;

	private static TransactionTemplate transactions;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest request = TestDatabase.request(this.key);

	@BeforeAll
	static void createDatabase() {
		store = database.store();
		transactions = new TransactionTemplate(new JdbcTransactionManager(database.pool()));
	}

	@Test
	void notedFailureCountsTheAttempts() {
		store.noteFailure(this.request, FAILURE);
		assertThat(store.noteFailure(this.request, FAILURE)).isEqualTo(Settlement.SETTLED);
		assertThat(database.record(this.key)).satisfies((noted) -> {
			assertThat(noted.state()).isEqualTo(State.FAILED);
			assertThat(noted.attempt()).isEqualTo(2);
			assertThat(noted.fence()).isEqualTo(2);
			assertThat(noted.failure()).isEqualTo(FAILURE);
		});
	}

	@Test
	@Tag("promise-3")
	void failureOfACompletedKeyIsNotNoted() {
		transactions.execute((status) -> store.insert(this.request));
		assertNotNoted();
	}

	@Test
	@Tag("promise-4")
	void failureIsNotNotedOverALiveClaim() {
		store.claim(this.request);
		assertNotNoted();
	}

	@Test
	void failureIsNotNotedWhileAnotherTransactionHasTheKey() {
		whileInserted(() -> assertThat(store.noteFailure(this.request, FAILURE)).isEqualTo(Settlement.LOST));
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	private void assertNotNoted() {
		String row = database.row(this.key);
		assertThat(store.noteFailure(TestDatabase.request(this.key), FAILURE)).isEqualTo(Settlement.LOST);
		assertThat(database.row(this.key)).isEqualTo(row);
	}

	private void whileInserted(Runnable action) {
		transactions.executeWithoutResult((status) -> {
			store.insert(TestDatabase.request(this.key));
			CompletableFuture.runAsync(action).orTimeout(5, TimeUnit.SECONDS).join();
		});
	}

}
