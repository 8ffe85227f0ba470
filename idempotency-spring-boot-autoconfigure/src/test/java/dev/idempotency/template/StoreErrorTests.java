package dev.idempotency.template;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.dao.InvalidDataAccessResourceUsageException;
import org.springframework.dao.QueryTimeoutException;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.resilience4j.Resilience4jStoreCircuit;
import dev.idempotency.template.IdempotencyListener.StoreCall;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.test.Logs;
import dev.idempotency.test.TestDatabase;
import dev.idempotency.test.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link StoreErrors}: which errors of a store are refusals, and which are
 * outages.
 */
@Tag("promise-14")
class StoreErrorTests {

	private static final int TIMES = 12;

	@RegisterExtension
	static TestDatabase database = BatchOf.createDatabase();

	private final UnreliableStore store = new UnreliableStore(database.store());

	private final CircuitBreaker breaker = CircuitBreaker.of("store",
			CircuitBreakerConfig.custom().slidingWindowSize(10).minimumNumberOfCalls(5).build());

	private final IdempotencyTemplate template = new IdempotencyTemplate(this.store, new Settings(null, false,
			new Resilience4jStoreCircuit(this.breaker), CompletionCache.NONE, List.of(), List.of()));

	@AfterEach
	void close() {
		this.template.close();
	}

	private void run() {
		this.template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), ResultCodec.none(),
				() -> null);
	}

	@Test
	void refusedCompletionOfABatchDoesNotPreventTheOthers() {
		BatchOf batch = new BatchOf(database, Mode.LEASED, false);
		batch.store().before(StoreCall.COMPLETE, (claim) -> {
			if (claim.key().value().equals("x")) {
				throw new IdempotencyStoreRefusedException("The result is too large", null);
			}
		});
		assertThat(BatchOf.text(batch.run("a x"))).isEqualTo("- -");
		assertThat(BatchOf.text(batch.run("a x"))).isEqualTo("[a] -");
		batch.store().recover();
		assertThat(BatchOf.text(batch.run("a x"))).isEqualTo("[a] [x]");
		assertThat(batch.runs()).containsExactly("a x");
		batch.template().close();
	}

	// Such as a store that sends one command for each key.
	@Test
	void recordBehindARefusedOneIsReleasedWhenTheBatchHadClaimedIt() {
		BatchOf batch = new BatchOf(database, Mode.LEASED, false);
		AtomicInteger asked = new AtomicInteger();
		batch.store().before(StoreCall.CLAIM, (claim) -> {
			if (!claim.key().value().equals("x")) {
				database.store().claim(claim);
			}
			if (asked.incrementAndGet() > 1) {
				throw new IdempotencyStoreRefusedException("A node of the cluster refused the command", null);
			}
		});
		assertThat(BatchOf.text(batch.run("x b"))).isEqualTo("- -");
		batch.store().recover();
		assertThat(BatchOf.text(batch.run("x b"))).isEqualTo("x b");
		batch.template().close();
	}

	static Stream<RuntimeException> programmingErrors() {
		return Stream.of(new IllegalArgumentException("x"), new NullPointerException("x"),
				new InvalidDataAccessResourceUsageException("x"));
	}

	@ParameterizedTest
	@MethodSource("programmingErrors")
	void unknownErrorOfAStoreIsARefusal(RuntimeException error) {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw error;
		});
		for (int i = 0; i < TIMES; i++) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> run()).withCause(error);
		}
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.CLOSED);
		assertThat(this.breaker.getMetrics().getNumberOfFailedCalls()).isZero();
	}

	static Stream<RuntimeException> outages() {
		return Stream.of(new DataAccessResourceFailureException("x"), new QueryTimeoutException("x"),
				new UncheckedIOException(new IOException("x")), new IllegalStateException(new TimeoutException("x")),
				new IllegalStateException(new SQLTransientConnectionException("x")));
	}

	@ParameterizedTest
	@MethodSource("outages")
	@Tag("promise-11")
	void connectionErrorOfAStoreIsAnOutage(RuntimeException error) {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw error;
		});
		for (int i = 0; i < TIMES; i++) {
			assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> run());
		}
		assertThat(this.breaker.getState()).isEqualTo(CircuitBreaker.State.OPEN);
	}

	@Test
	void textOfAnErrorAboutDataIsNotLogged() {
		this.store.before(StoreCall.CLAIM, (claim) -> {
			throw new IdempotencyStoreRefusedException("The database refused the statement (SQL state 22001)", "22001",
					new java.sql.SQLException("Value 'payload' is too long", "22001"));
		});
		try (Logs logs = Logs.ofThisThread()) {
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class).isThrownBy(() -> run());
			assertThat(logs.messages("WARN")).singleElement().asString().contains("22001").doesNotContain("payload");
		}
	}

}
