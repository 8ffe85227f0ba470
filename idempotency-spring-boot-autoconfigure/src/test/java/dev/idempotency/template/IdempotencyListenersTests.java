package dev.idempotency.template;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotencyListener.Execution;
import dev.idempotency.template.IdempotencyListener.Intervention;
import dev.idempotency.template.IdempotencyListener.Outcome;
import dev.idempotency.template.IdempotencyListener.StoreCall;
import dev.idempotency.template.IdempotencyListener.StoreOutcome;
import dev.idempotency.testsupport.RecordingListener;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyListeners}.
 */
class IdempotencyListenersTests {

	private static final Execution EXECUTION = new Execution("payments", Mode.LEASED, null, Outcome.PROCESSED,
			Duration.ofMillis(3));

	private final RecordingListener first = new RecordingListener();

	private final RecordingListener last = new RecordingListener();

	private final IdempotencyListeners listeners = new IdempotencyListeners(
			List.of(this.first, new ThrowingListener(), this.last));

	@Test
	void everyListenerIsNotifiedOfAnExecution() {
		this.listeners.executed(EXECUTION);
		assertThat(this.first.executions()).containsExactly(EXECUTION);
		assertThat(this.last.executions()).containsExactly(EXECUTION);
	}

	@Test
	void everyListenerIsNotifiedOfAStoreCall() {
		this.listeners.storeCalled("jdbc", StoreCall.CLAIM, StoreOutcome.UNAVAILABLE, Duration.ZERO);
		assertThat(this.first.storeCalls()).containsExactly("jdbc CLAIM unavailable");
		assertThat(this.last.storeCalls()).containsExactly("jdbc CLAIM unavailable");
	}

	@Test
	void everyListenerIsNotifiedOfACompletion() {
		IdempotencyKey key = IdempotencyKey.of("scope", "key");
		this.listeners.completionFailed("payments", key);
		this.listeners.completionSettled("payments", key, Settlement.LOST);
		assertThat(this.first.completions()).containsExactly("failed key", "LOST key");
		assertThat(this.last.completions()).containsExactly("failed key", "LOST key");
	}

	@Test
	void everyListenerIsNotifiedOfAnIntervention() {
		this.listeners.intervened(Intervention.EVICT, true);
		assertThat(this.first.interventions()).containsExactly("EVICT done");
		assertThat(this.last.interventions()).containsExactly("EVICT done");
	}

	@Test
	void everyListenerIsNotifiedOfEachEventDespiteAnError() throws Exception {
		List<String> events = new ArrayList<>();
		IdempotencyListener recording = listener(events, false);
		IdempotencyListeners all = new IdempotencyListeners(List.of(recording, listener(events, true), recording));
		for (Method event : IdempotencyListener.class.getMethods()) {
			if (Modifier.isStatic(event.getModifiers())) {
				continue;
			}
			events.clear();
			event.invoke(all, Stream.of(event.getParameterTypes()).map(IdempotencyListenersTests::argument).toArray());
			assertThat(events).as(event.getName()).hasSize(3).containsOnly(event.getName());
		}
	}

	private static IdempotencyListener listener(List<String> events, boolean throwing) {
		return (IdempotencyListener) Proxy.newProxyInstance(IdempotencyListener.class.getClassLoader(),
				new Class<?>[] { IdempotencyListener.class }, (proxy, method, arguments) -> {
					if (method.getDeclaringClass() == Object.class) {
						return "listener";
					}
					events.add(method.getName());
					if (throwing) {
						throw new IllegalStateException("listener");
					}
					return null;
				});
	}

	private static Object argument(Class<?> type) {
		return type.isPrimitive() ? ((type == boolean.class) ? (Object) true : 1) : null;
	}

	private static final class ThrowingListener implements IdempotencyListener {

		@Override
		public void executed(Execution execution) {
			throw new IllegalStateException("listener");
		}

		@Override
		public void completionFailed(String listener, IdempotencyKey key) {
			throw new IllegalStateException("listener");
		}

		@Override
		public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
			throw new IllegalStateException("listener");
		}

		@Override
		public void intervened(Intervention intervention, boolean done) {
			throw new IllegalStateException("listener");
		}

		@Override
		public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
			throw new IllegalStateException("listener");
		}

	}

}
