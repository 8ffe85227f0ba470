package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationRefusedException;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyAdmin.StoredOutcome;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.template.IdempotencyListener.StoreCall;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

/**
 * Tests for {@link Refusal}: the handler ends its operation for good.
 */
@Tag("promise-3")
@Tag("promise-8")
class RefusalTests extends AbstractLeasedTests {

	@RegisterExtension
	static TestDatabase database = EffectOperation.createDatabase();

	RefusalTests() {
		super(database);
		this.store.showRecords();
	}

	private OperationRefusedException refuse(String reason, Object body) {
		return refusal(() -> {
			this.runs.incrementAndGet();
			throw new OperationRefusedException(reason, body);
		});
	}

	private OperationRefusedException refusal(Handler<String, RuntimeException> handler) {
		return catchThrowableOfType(OperationRefusedException.class,
				() -> this.template.execute(this.operation, new TextCodec(), handler));
	}

	@Test
	void duplicateGetsTheSameRefusal() {
		OperationRefusedException first = refuse("account closed", "refused");
		OperationRefusedException second = refuse("other", null);
		assertThat(first)
			.extracting(OperationRefusedException::reason, OperationRefusedException::body,
					OperationRefusedException::isDuplicate)
			.containsExactly("account closed", "refused", false);
		assertThat(second)
			.extracting(OperationRefusedException::reason, OperationRefusedException::body,
					OperationRefusedException::isDuplicate)
			.containsExactly("account closed", "refused", true);
		assertThat(this.runs).hasValue(1);
		assertThat(this.listener.outcomes()).containsExactly(Outcome.OPERATION_REFUSED, Outcome.DUPLICATE);
		assertThat(state()).isEqualTo(State.COMPLETED);
		assertThat(this.template.admin().outcome(this.key)).get()
			.extracting(StoredOutcome::refusal, (outcome) -> new String(outcome.result()))
			.containsExactly("account closed", "refused");
	}

	@Test
	void refusalWithoutABodyHasNone() {
		refuse("no", null);
		assertThat(refuse("no", null).body()).isNull();
		assertThat(this.template.admin().outcome(this.key)).get().extracting(StoredOutcome::result).isNull();
	}

	@Test
	void longReasonIsCut() {
		refuse("x".repeat(600), "body");
		assertThat(refuse("other", null).reason()).hasSize(OperationRefusedException.MAX_REASON_LENGTH);
	}

	@Test
	void refusalThatIsTheCauseOfAnotherExceptionIsAFailure() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new IllegalStateException(new OperationRefusedException("nested"));
			}));
		assertThat(state()).isEqualTo(State.FAILED);
	}

	@Test
	void bodyOfAnotherTypeFailsTheOperation() {
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new OperationRefusedException("no", 7);
			}))
			.withMessageContaining("java.lang.Integer");
		assertThatIllegalStateException()
			.isThrownBy(() -> this.template.execute(this.operation, ResultCodec.none(), () -> {
				throw new OperationRefusedException("no", "body");
			}))
			.withMessageContaining("there is no result");
		assertThat(state()).isEqualTo(State.FAILED);
	}

	@Test
	void resultThatLooksLikeARefusalIsReplayed() {
		String result = "\0idem\0R\1\0\0\0\0";
		assertThat(this.template.execute(this.operation, new TextCodec(), () -> result).result()).isEqualTo(result);
		assertThat(run()).isEqualTo(new IdempotentResult<>(result, true));
		assertThat(this.template.admin().outcome(this.key)).get()
			.extracting(StoredOutcome::refusal, (outcome) -> new String(outcome.result()))
			.containsExactly(null, result);
	}

	@Test
	@Tag("promise-11")
	void refusalIsRecordedWhenTheStoreIsAvailableAgain() {
		this.store.fail(StoreCall.COMPLETE);
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class)
			.isThrownBy(() -> this.template.execute(this.operation, new TextCodec(), () -> {
				throw new OperationRefusedException("account closed");
			}));
		this.store.recover();
		assertThat(refusal(() -> "runs again").isDuplicate()).isTrue();
	}

	@Test
	void refusalOfAFutureIsADuplicateLater() {
		CompletionStage<String> failed = CompletableFuture.failedFuture(new OperationRefusedException("no", "body"));
		CompletableFuture<IdempotentResult<String>> first = this.template.executeAsync(this.operation, new TextCodec(),
				() -> failed.thenApply((value) -> value));
		assertThat(first).failsWithin(Duration.ofSeconds(20))
			.withThrowableThat()
			.havingCause()
			.isInstanceOfSatisfying(OperationRefusedException.class, (ex) -> assertThat(ex.body()).isEqualTo("body"));
		assertThat(refusal(() -> "runs again").isDuplicate()).isTrue();
		assertThat(this.listener.outcomes()).containsExactly(Outcome.OPERATION_REFUSED, Outcome.DUPLICATE);
	}

	@Test
	@Tag("promise-5")
	void writesAreRolledBackAndTheRefusalIsCommitted() {
		EffectOperation effect = new EffectOperation(database, new JdbcTransactionManager(database.pool()));
		for (boolean duplicate : List.of(false, true)) {
			assertThatExceptionOfType(OperationRefusedException.class)
				.isThrownBy(() -> effect.<RuntimeException>run((jdbc) -> {
					throw new OperationRefusedException("account closed", "refused");
				}))
				.satisfies((ex) -> assertThat(ex.isDuplicate()).isEqualTo(duplicate))
				.satisfies((ex) -> assertThat(ex.body()).isEqualTo("refused"));
		}
		assertThat(effect.effects()).isZero();
		assertThat(effect.outcomes()).containsExactly(Outcome.OPERATION_REFUSED, Outcome.DUPLICATE);
	}

	@Test
	@Tag("promise-5")
	void refusalInATransactionOfTheCallerEndsWithIt() {
		JdbcTransactionManager manager = new JdbcTransactionManager(database.pool());
		EffectOperation effect = new EffectOperation(database, manager);
		EffectOperation.Handler<RuntimeException> refusing = (jdbc) -> {
			throw new OperationRefusedException("account closed");
		};
		assertThatExceptionOfType(OperationRefusedException.class)
			.isThrownBy(() -> new TransactionTemplate(manager).execute((status) -> effect.run(refusing)));
		assertThat(effect.record()).isEmpty();
		new TransactionTemplate(manager).executeWithoutResult(
				(status) -> catchThrowableOfType(OperationRefusedException.class, () -> effect.run(refusing)));
		assertThatExceptionOfType(OperationRefusedException.class).isThrownBy(effect::run)
			.satisfies((ex) -> assertThat(ex.isDuplicate()).isTrue());
	}

}
