package dev.idempotency.resilience4j;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;

import dev.idempotency.StoreCircuit;

/**
 * A circuit that is kept by a Resilience4j circuit breaker.
 *
 * @since 0.1.0
 */
public final class Resilience4jStoreCircuit implements StoreCircuit {

	private final CircuitBreaker breaker;

	public Resilience4jStoreCircuit(CircuitBreaker breaker) {
		this.breaker = breaker;
	}

	@Override
	public boolean tryAcquirePermission() {
		return this.breaker.tryAcquirePermission();
	}

	@Override
	public void releasePermission() {
		this.breaker.releasePermission();
	}

	@Override
	public void onSuccess(Duration duration) {
		this.breaker.onSuccess(duration.toNanos(), TimeUnit.NANOSECONDS);
	}

	@Override
	public void onError(Duration duration, Throwable error) {
		this.breaker.onError(duration.toNanos(), TimeUnit.NANOSECONDS, error);
	}

	@Override
	public void onStateChange(Consumer<State> consumer) {
		this.breaker.getEventPublisher()
			.onStateTransition((event) -> consumer.accept(state(event.getStateTransition().getToState())));
		consumer.accept(state(this.breaker.getState()));
	}

	private static State state(CircuitBreaker.State state) {
		return switch (state) {
			case OPEN, FORCED_OPEN -> State.OPEN;
			case HALF_OPEN -> State.HALF_OPEN;
			default -> State.CLOSED;
		};
	}

}
