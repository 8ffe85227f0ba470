package dev.idempotency.template;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.test.Logs;
import dev.idempotency.test.RecordingListener;
import dev.idempotency.test.TestDatabase;
import dev.idempotency.test.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the bypass of a scope.
 */
@Isolated("It reads the log")
class BypassTests {

	@RegisterExtension
	static TestDatabase database = BatchOf.createDatabase();

	private final RecordingListener listener = new RecordingListener();

	private final JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());

	private final IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
			new TemplateSettings(this.manager, false, StoreCircuit.ALWAYS_CLOSED,
					new CaffeineCompletionCache(1_000_000, Duration.ofMinutes(1)), List.of(this.listener)));

	private final IdempotencyKey key = TestDatabase.newKey();

	private final AtomicInteger runs = new AtomicInteger();

	private final JdbcTemplate effects = new JdbcTemplate(database.pool());

	@AfterEach
	void close() {
		this.template.close();
	}

	private void bypass(boolean on) {
		this.template.operator().bypass(this.key.scope(), on, "alice");
	}

	private Executed<String> run(Mode mode) {
		return this.template.execute(TestDatabase.operation(this.key, mode), new TextCodec(), this::handle);
	}

	private String handle() {
		String run = "run " + this.runs.incrementAndGet();
		this.effects.update("INSERT INTO effect VALUES (?, ?)", this.key.value(), run);
		return run;
	}

	private List<String> effects() {
		return database.jdbc()
			.queryForList("SELECT value FROM effect WHERE scope = ? ORDER BY value", String.class, this.key.value());
	}

	private BatchExecuted<String> runBatch(Mode mode, IdempotencyKey... keys) {
		List<BatchItem> items = Arrays.stream(keys)
			.map((each) -> new BatchItem(TestDatabase.operation(each, mode), 0))
			.toList();
		return this.template.executeAll(items, new TextCodec(),
				(due) -> due.stream().map((index) -> "run " + this.runs.incrementAndGet()).toList());
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void completedOperationIsProcessedAgainAndCountedAndItsRecordStaysAsItIs(Mode mode) {
		run(mode);
		String row = database.row(this.key);
		bypass(true);
		assertThat(run(mode)).isEqualTo(new Executed<>("run 2", false));
		assertThat(run(mode)).isEqualTo(new Executed<>("run 3", false));
		assertThat(effects()).containsExactly("run 1", "run 2", "run 3");
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.UNPROTECTED,
				Outcome.UNPROTECTED);
		assertThat(database.row(this.key)).isEqualTo(row);
		bypass(false);
		assertThat(run(mode)).isEqualTo(new Executed<>("run 1", true));
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void otherScopeIsProtected(Mode mode) {
		run(mode);
		this.template.operator().bypass("other", true, null);
		assertThat(run(mode).duplicate()).isTrue();
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	@Tag("promise-2")
	void newKeyIsRecordedAndALiveClaimIsLeftAlone(Mode mode) {
		bypass(true);
		run(mode);
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED);
		IdempotencyKey live = TestDatabase.newKey();
		database.store().claim(TestDatabase.request(live));
		assertThatExceptionOfType(OperationInProgressException.class)
			.isThrownBy(() -> this.template.execute(TestDatabase.operation(live, mode), new TextCodec(), this::handle));
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	@Tag("promise-9")
	void otherContentIsRejected(Mode mode) {
		IdempotentOperation first = withContent(mode, 1);
		this.template.execute(first, new TextCodec(), this::handle);
		bypass(true);
		assertThatExceptionOfType(IdempotencyKeyReusedException.class)
			.isThrownBy(() -> this.template.execute(withContent(mode, 2), new TextCodec(), this::handle));
	}

	private IdempotentOperation withContent(Mode mode, int content) {
		return new IdempotentOperation(this.key, "payments", "topic-0@7", mode,
				Fingerprint.of(new byte[] { (byte) content }), TestDatabase.LEASE, TestDatabase.RETENTION);
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void handlerSeesItsKeyAndTheLastFence(Mode mode) {
		run(mode);
		bypass(true);
		String seen = this.template
			.execute(TestDatabase.operation(this.key, mode), new TextCodec(),
					() -> IdempotentExecution.current().key() + " " + IdempotentExecution.current().fence())
			.result();
		assertThat(seen).isEqualTo(this.key.value() + " " + database.record(this.key).fence());
	}

	@Test
	@Tag("promise-5")
	void effectsOfAFailingRunAreRolledBack() {
		run(Mode.TRANSACTIONAL);
		bypass(true);
		assertThatExceptionOfType(IllegalStateException.class).isThrownBy(() -> this.template
			.execute(TestDatabase.operation(this.key, Mode.TRANSACTIONAL), new TextCodec(), () -> {
				handle();
				throw new IllegalStateException("handler");
			}));
		assertThat(effects()).containsExactly("run 1");
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-5")
	void runBelongsToTheTransactionOfTheCaller() {
		run(Mode.TRANSACTIONAL);
		bypass(true);
		new TransactionTemplate(this.manager).executeWithoutResult((status) -> {
			assertThat(run(Mode.TRANSACTIONAL).duplicate()).isFalse();
			status.setRollbackOnly();
		});
		assertThat(effects()).containsExactly("run 1");
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void completedPartsOfABatchAreProcessedAgainAndTheOthersRecorded(Mode mode) {
		IdempotencyKey fresh = TestDatabase.newKey();
		runBatch(mode, this.key);
		bypass(true);
		BatchExecuted<String> executed = runBatch(mode, this.key, fresh, this.key);
		assertThat(executed.answers()).containsExactly(new Executed<>("run 2", false), new Executed<>("run 3", false),
				new Executed<>("run 2", true));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.UNPROTECTED, Outcome.PROCESSED,
				Outcome.DUPLICATE);
		assertThat(database.record(fresh).state()).isEqualTo(State.COMPLETED);
		bypass(false);
		assertThat(runBatch(mode, this.key, fresh).answers()).extracting((answer) -> answer.duplicate())
			.containsExactly(true, true);
	}

	@Test
	void completedAsynchronousOperationIsProcessedAgain() {
		run(Mode.LEASED);
		bypass(true);
		CompletableFuture<String> signal = new CompletableFuture<>();
		CompletableFuture<Executed<String>> answer = this.template
			.executeAsync(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> signal);
		assertThat(answer).isNotDone();
		signal.complete("again");
		assertThat(answer.join()).isEqualTo(new Executed<>("again", false));
		assertThat(this.listener.outcomes()).containsExactly(Outcome.PROCESSED, Outcome.UNPROTECTED);
	}

	@Test
	void switchIsLoggedAndCounted() {
		try (Logs logs = new Logs()) {
			bypass(true);
			bypass(true);
			bypass(false);
			bypass(false);
			assertThat(logs.messages("WARN")).singleElement()
				.asString()
				.contains("bypass of the scope '" + this.key.scope() + "' by 'alice'");
			assertThat(logs.messages("INFO")).satisfiesExactly(
					(second) -> assertThat(second).startsWith("Refused: bypass").endsWith("it is already on"),
					(off) -> assertThat(off)
						.contains("no more bypass of the scope '" + this.key.scope() + "' by 'alice'"),
					(again) -> assertThat(again).endsWith("it is already off"));
		}
		assertThat(this.listener.interventions()).containsExactly("BYPASS done", "BYPASS refused", "BYPASS done",
				"BYPASS refused");
		assertThat(this.template.operator().bypassed()).isEmpty();
	}

}
