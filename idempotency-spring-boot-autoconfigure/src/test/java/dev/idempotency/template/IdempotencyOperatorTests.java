package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.caffeine.CaffeineCompletionCache;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.test.Logs;
import dev.idempotency.test.RecordingListener;
import dev.idempotency.test.TestDatabase;
import dev.idempotency.test.TextCodec;
import dev.idempotency.test.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link IdempotencyOperator}.
 */
class IdempotencyOperatorTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final RecordingListener listener = new RecordingListener();

	private final HookedCache cache = new HookedCache();

	private final IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
			new TemplateSettings(new JdbcTransactionManager(database.pool()), false, StoreCircuit.ALWAYS_CLOSED,
					this.cache, List.of(this.listener)));

	private final IdempotencyOperator operator = this.template.operator();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final AtomicInteger runs = new AtomicInteger();

	@AfterEach
	void close() {
		this.template.close();
	}

	private IdempotentResult<String> run(Mode mode) {
		return this.template.execute(TestDatabase.operation(this.key, mode), new TextCodec(),
				() -> "run " + this.runs.incrementAndGet());
	}

	@ParameterizedTest
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "AUTO")
	void evictedKeyIsForgottenByTheCache(Mode mode) {
		run(mode);
		assertThat(run(mode).duplicate()).isTrue();
		assertThat(this.operator.evict(this.key, false, null)).isEqualTo(Change.DONE);
		assertThat(run(mode)).isEqualTo(new IdempotentResult<>("run 2", false));
	}

	@Test
	void duplicateThatHasReadTheRecordBeforeItsEvictionDoesNotBringItBack() {
		database.store().complete(claim(), null);
		this.cache.beforeAdd = () -> this.operator.evict(this.key, false, null);
		assertThat(run(Mode.LEASED).duplicate()).isTrue();
		this.cache.beforeAdd = null;
		assertThat(run(Mode.LEASED).duplicate()).isFalse();
	}

	@Test
	void otherKeysAreStillCachedAfterAnEviction() {
		this.operator.evict(TestDatabase.newKey(), false, null);
		run(Mode.LEASED);
		int calls = this.listener.storeCalls().size();
		assertThat(run(Mode.LEASED).duplicate()).isTrue();
		assertThat(this.listener.storeCalls()).hasSize(calls);
	}

	private ClaimRequest claim() {
		ClaimRequest request = TestDatabase.request(this.key);
		database.store().claim(request);
		return request;
	}

	@Test
	void changeIsLoggedWithScopeKeyAndWhoAndCounted() {
		claim();
		try (Logs logs = new Logs()) {
			this.operator.release(this.key, false, "alice");
			this.operator.release(this.key, true, "alice");
			this.operator.evict(this.key, false, null);
			assertThat(logs.messages("INFO")).singleElement()
				.asString()
				.contains("Refused: release of the " + this.key + " by 'alice'", "alive");
			assertThat(logs.messages("WARN").get(0)).contains("release (forced) of the " + this.key + " by 'alice'");
			assertThat(logs.messages("WARN").get(1)).contains("evict of the " + this.key + " by somebody unknown");
		}
		assertThat(this.listener.interventions()).containsExactly("RELEASE refused", "RELEASE done", "EVICT done");
	}

	@Test
	@Tag("promise-4")
	void completionOfAReleasedExecutionIsLost() {
		assertThatExceptionOfType(OwnershipLostException.class).isThrownBy(
				() -> this.template.execute(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> {
					this.operator.release(this.key, true, null);
					return "late";
				}));
		assertThat(run(Mode.LEASED).duplicate()).isFalse();
	}

	@Test
	void storeThatCannotListSaysSo() {
		try (IdempotencyTemplate other = new IdempotencyTemplate(new UnreliableStore(database.store()),
				new TemplateSettings(null, false, List.of(this.listener)))) {
			assertThat(other.operator().records()).isEmpty();
			assertThatIllegalStateException().isThrownBy(() -> other.operator().evict(this.key, true, null))
				.withMessageContaining("'unreliable' has no IdempotencyRecords");
		}
	}

	/**
	 * A cache in which something may happen before an entry is added.
	 */
	private static final class HookedCache implements CompletionCache {

		private final CompletionCache cache = new CaffeineCompletionCache(1_000_000, Duration.ofMinutes(1));

		private volatile @Nullable Runnable beforeAdd;

		@Override
		public Claim.@Nullable Completed find(IdempotencyKey key, byte @Nullable [] fingerprint) {
			return this.cache.find(key, fingerprint);
		}

		@Override
		public void add(IdempotencyKey key, byte @Nullable [] fingerprint, byte @Nullable [] result,
				Duration retention) {
			Runnable hook = this.beforeAdd;
			if (hook != null) {
				hook.run();
			}
			this.cache.add(key, fingerprint, result, retention);
		}

		@Override
		public void remove(IdempotencyKey key) {
			this.cache.remove(key);
		}

	}

}
