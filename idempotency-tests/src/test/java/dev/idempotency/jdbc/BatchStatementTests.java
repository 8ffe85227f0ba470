package dev.idempotency.jdbc;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Completion;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for the number of statements of a batch.
 */
class BatchStatementTests {

	private static final Failure FAILURE = new Failure("x", null);

	private static final AtomicInteger STATEMENTS = new AtomicInteger();

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static JdbcIdempotencyStore store;

	private static TransactionTemplate transactions;

	private final List<ClaimRequest> requests = requests(500);

	@BeforeAll
	static void createStore() {
		DataSource counted = ProxyDataSourceBuilder.create(database.pool())
			.afterQuery((execution, queries) -> STATEMENTS.addAndGet(queries.size()))
			.build();
		store = new JdbcIdempotencyStore(counted, TestDatabase.TABLE, TestDatabase.TIMEOUT);
		transactions = new TransactionTemplate(new JdbcTransactionManager(counted));
	}

	private static List<ClaimRequest> requests(int size) {
		return Stream.generate(() -> TestDatabase.request(TestDatabase.newKey())).limit(size).toList();
	}

	private static List<Completion> completions(List<ClaimRequest> owners) {
		return owners.stream().map((owner) -> new Completion(owner, new byte[] { 1 })).toList();
	}

	@Test
	void leasedBatchWithDuplicatesCostsOneStatementToClaimAndOneToComplete() {
		List<ClaimRequest> known = this.requests.stream()
			.limit(100)
			.map((request) -> TestDatabase.request(request.key()))
			.toList();
		store.claimAll(known);
		store.completeAll(completions(known));
		assertThat(count(() -> assertThat(store.claimAll(this.requests)).filteredOn(Claim.Acquired.class::isInstance)
			.hasSize(400))).isOne();
		List<ClaimRequest> owners = this.requests.subList(100, 500);
		assertThat(count(
				() -> assertThat(store.completeAll(completions(owners))).hasSize(400).containsOnly(Settlement.SETTLED)))
			.isOne();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void batchInATransactionCostsOneStatementToClaimAndOneForItsResults(boolean insert) {
		transactions.executeWithoutResult((status) -> {
			assertThat(count(() -> {
				if (insert) {
					store.insertAll(this.requests);
				}
				else {
					store.claimAllInTransaction(this.requests, false);
				}
			})).isOne();
			assertThat(count(() -> store.storeResults(completions(this.requests)))).isOne();
		});
	}

	@Test
	void failuresAndReleasesOfABatchCostOneStatement() {
		store.claimAll(this.requests);
		assertThat(count(() -> store.releaseAll(this.requests.subList(0, 250)))).isOne();
		assertThat(count(() -> store.failAll(this.requests.subList(250, 500), FAILURE))).isOne();
		assertThat(count(() -> store.noteFailures(this.requests, FAILURE))).isOne();
	}

	@Test
	void batchWithTheSameKeyTwiceIsRejected() {
		ClaimRequest first = this.requests.get(0);
		List<ClaimRequest> twice = List.of(first, TestDatabase.request(first.key()));
		assertThatIllegalStateException().isThrownBy(() -> store.claimAll(twice));
		assertThat(store.find(first.key())).isEmpty();
	}

	@Test
	void emptyBatchesCostNothing() {
		assertThat(count(() -> {
			store.claimAll(List.of());
			store.completeAll(List.of());
			store.failAll(List.of(), FAILURE);
			store.releaseAll(List.of());
			store.renewAll(List.of());
			store.noteFailures(List.of(), FAILURE);
			transactions.executeWithoutResult((status) -> {
				store.insertAll(List.of());
				store.claimAllInTransaction(List.of(), true);
				store.storeResults(List.of());
			});
		})).isZero();
	}

	private static int count(Runnable action) {
		int before = STATEMENTS.get();
		action.run();
		return STATEMENTS.get() - before;
	}

}
