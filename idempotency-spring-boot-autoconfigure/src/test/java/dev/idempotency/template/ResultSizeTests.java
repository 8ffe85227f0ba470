package dev.idempotency.template;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.util.unit.DataSize;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyResultTooLargeException;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.template.TransactionBoundary.Deferral;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestDynamoDb;
import dev.idempotency.testsupport.TestRedis;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the maximum size of a result: a larger one is rejected, its operation is
 * neither lost nor repeated.
 */
@Tag("promise-14")
class ResultSizeTests {

	private static final String LARGE = "too large";

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@RegisterExtension
	static TestDatabase effects = EffectOperation.createDatabase();

	@RegisterExtension
	static TestRedis redis = TestRedis.create();

	@RegisterExtension
	static TestDynamoDb dynamoDb = TestDynamoDb.create();

	private final AtomicInteger runs = new AtomicInteger();

	private final RecordingObserver listener = new RecordingObserver();

	static Stream<Named<IdempotencyStore>> stores() {
		return Stream.of(Named.of("PostgreSQL", database.store()), Named.of("Redis", redis.store()),
				Named.of("DynamoDB", dynamoDb.store()));
	}

	private IdempotencyTemplate template(IdempotencyStore store) {
		return new IdempotencyTemplate(store,
				new Settings(null, new JdbcTransactionManager(database.pool()), false, StoreCircuit.ALWAYS_CLOSED,
						CompletionCache.NONE, this.listener.observers(), List.of(),
						DataSize.ofBytes(LARGE.length() - 1), null, OperationSpec.Defaults.STANDARD));
	}

	private String execute(IdempotencyTemplate template, IdempotentOperation operation, String result) {
		return template.execute(operation, new TextCodec(), () -> {
			this.runs.incrementAndGet();
			return result;
		}).result();
	}

	private static IdempotentOperation operation(Mode mode) {
		return TestDatabase.operation(TestDatabase.newKey(), mode);
	}

	private static State state(IdempotencyStore store, IdempotencyKey key) {
		return store.find(key).orElseThrow().state();
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("stores")
	void leasedOperationIsRejectedAndCompletesWithoutAResult(IdempotencyStore store) {
		try (IdempotencyTemplate template = template(store); Logs logs = Logs.ofThisThread()) {
			IdempotentOperation operation = operation(Mode.LEASED);
			assertThatExceptionOfType(IdempotencyResultTooLargeException.class)
				.isThrownBy(() -> execute(template, operation, LARGE))
				.withMessageContainingAll("topic-0@7", operation.key().value(), "9 bytes",
						"'idempotency.result.maximum-size' (8)", "has completed")
				.withMessageNotContaining(LARGE);
			assertThat(logs.messages("ERROR")).singleElement().asString().contains("topic-0@7", "has completed");
			assertThat(state(store, operation.key())).isEqualTo(State.COMPLETED);
			assertThat(execute(template, operation, LARGE)).isNull();
			assertThat(this.runs).hasValue(1);
			assertThat(this.listener.outcomes()).containsExactly(Outcome.REJECTED, Outcome.DUPLICATE);
		}
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("stores")
	@Tag("promise-8")
	void resultOfTheMaximumSizeIsReplayed(IdempotencyStore store) {
		try (IdempotencyTemplate template = template(store)) {
			IdempotentOperation operation = operation(Mode.LEASED);
			String result = LARGE.substring(1);
			execute(template, operation, result);
			assertThat(execute(template, operation, LARGE)).isEqualTo(result);
		}
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("stores")
	void asyncOperationFailsWithTheRejectionWhenItHasCompleted(IdempotencyStore store) {
		try (IdempotencyTemplate template = template(store)) {
			IdempotentOperation operation = operation(Mode.LEASED);
			CompletableFuture<IdempotentResult<String>> executed = template.executeAsync(operation, new TextCodec(),
					() -> CompletableFuture.completedFuture(LARGE));
			assertThatExceptionOfType(CompletionException.class).isThrownBy(executed::join)
				.withCauseInstanceOf(IdempotencyResultTooLargeException.class);
			assertThat(state(store, operation.key())).isEqualTo(State.COMPLETED);
		}
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("stores")
	void leasedBatchRejectsTheFirstItemWithATooLargeResultAndCompletesAll(IdempotencyStore store) {
		try (IdempotencyTemplate template = template(store)) {
			Items items = new Items(Mode.LEASED, "a", LARGE, "b", LARGE);
			BatchResult<String> first = items.execute(template);
			assertThat(first.blocked()).isEmpty();
			assertThat(first.failedAt()).isOne();
			assertThat(first.failure()).isInstanceOf(IdempotencyResultTooLargeException.class);
			BatchResult<String> second = items.execute(template);
			assertThat(second.failure()).isNull();
			assertThat(second.results()).containsExactly(duplicate("a"), duplicate(null), duplicate("b"),
					duplicate(null));
			assertThat(items.seen).containsExactly(List.of(0, 1, 2, 3));
		}
	}

	private static IdempotentResult<String> duplicate(String result) {
		return new IdempotentResult<>(result, true);
	}

	@Test
	@Tag("promise-5")
	void transactionIsRolledBackAndTheRecordRejected() {
		EffectOperation effect = new EffectOperation(effects, new JdbcTransactionManager(effects.pool()),
				DataSize.ofBytes(1));
		assertThatExceptionOfType(IdempotencyResultTooLargeException.class).isThrownBy(effect::run)
			.withMessageContaining("'idempotency.result.maximum-size' (1)");
		assertThat(effect.effects()).isZero();
		assertThat(effect.record().orElseThrow().state()).isEqualTo(State.FAILED);
		assertThat(effect.outcomes()).containsExactly(Outcome.REJECTED);
	}

	@Test
	@Tag("promise-5")
	void transactionalBatchCommitsTheItemsBeforeTheRejectedOne() {
		try (IdempotencyTemplate template = template(database.store())) {
			Items items = new Items(Mode.TRANSACTIONAL, "a", LARGE, "b");
			BatchResult<String> executed = items.execute(template);
			assertThat(executed.failedAt()).isOne();
			assertThat(executed.failure()).isInstanceOf(IdempotencyResultTooLargeException.class);
			assertThat(items.seen).containsExactly(List.of(0, 1, 2), List.of(0));
			assertThat(state(database.store(), items.key(0))).isEqualTo(State.COMPLETED);
			assertThat(state(database.store(), items.key(1))).isEqualTo(State.FAILED);
			assertThat(database.store().find(items.key(2))).isEmpty();
		}
	}

	@Test
	void completionThatWaitsForATransactionIsPassedOnBeforeTheRejection() {
		List<PendingCompletion> pending = new ArrayList<>();
		try (IdempotencyTemplate template = template(database.store())) {
			IdempotentOperation operation = operation(Mode.LEASED);
			assertThatExceptionOfType(IdempotencyResultTooLargeException.class).isThrownBy(() -> template
				.execute(operation, new TextCodec(), TransactionBoundary.deferred(pending::add), null, () -> LARGE));
			assertThat(state(database.store(), operation.key())).isEqualTo(State.IN_PROGRESS);
			pending.forEach(PendingCompletion::release);
			assertThat(state(database.store(), operation.key())).isEqualTo(State.FAILED);
		}
	}

	@Test
	void completionDoesNotWaitForAnAcknowledgmentOfARejectedRecord() {
		List<PendingCompletion> pending = new ArrayList<>();
		Deferral untilAcknowledged = new Deferral() {

			@Override
			public boolean isTransactional() {
				return false;
			}

			@Override
			public void defer(PendingCompletion completion) {
				pending.add(completion);
			}

		};
		try (IdempotencyTemplate template = template(database.store())) {
			IdempotentOperation operation = operation(Mode.LEASED);
			assertThatExceptionOfType(IdempotencyResultTooLargeException.class)
				.isThrownBy(() -> template.execute(operation, new TextCodec(),
						TransactionBoundary.deferred(untilAcknowledged), null, () -> LARGE));
			assertThat(pending).isEmpty();
			assertThat(state(database.store(), operation.key())).isEqualTo(State.COMPLETED);
		}
	}

	@Test
	void batchInATransactionIsNotRejectedBecauseItWouldRunAgain() {
		List<PendingCompletion> pending = new ArrayList<>();
		try (IdempotencyTemplate template = template(database.store()); Logs logs = Logs.ofThisThread()) {
			Items items = new Items(Mode.LEASED, "a", LARGE);
			BatchResult<String> executed = template.executeAll(items.items, Mode.LEASED, new TextCodec(),
					TransactionBoundary.deferred(pending::add), items);
			assertThat(executed.failure()).isNull();
			pending.forEach(PendingCompletion::complete);
			assertThat(state(database.store(), items.key(1))).isEqualTo(State.COMPLETED);
			assertThat(logs.messages("ERROR")).singleElement().asString().contains(items.key(1).value());
		}
	}

	/**
	 * A batch whose items have given results.
	 */
	private static final class Items implements BatchHandler<String> {

		private final List<List<Integer>> seen = new ArrayList<>();

		private final List<String> results;

		private final List<BatchItem> items;

		Items(Mode mode, String... results) {
			this.results = List.of(results);
			this.items = Arrays.stream(results).map((result) -> new BatchItem(operation(mode), "lane")).toList();
		}

		@Override
		public List<String> handle(List<Integer> due) {
			this.seen.add(List.copyOf(due));
			return due.stream().map(this.results::get).toList();
		}

		BatchResult<String> execute(IdempotencyTemplate template) {
			return template.executeAll(this.items, new TextCodec(), this);
		}

		IdempotencyKey key(int index) {
			return Objects.requireNonNull(this.items.get(index).operation()).key();
		}

	}

}
