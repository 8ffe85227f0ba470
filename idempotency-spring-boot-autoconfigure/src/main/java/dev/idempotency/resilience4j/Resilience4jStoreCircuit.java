package dev.idempotency.resilience4j;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;

import dev.idempotency.template.StoreCircuit;

/**
 * A circuit that is kept by a Resilience4j circuit breaker. Its events are not listened
 * to: with a single listener it makes one for each call.
 *
 * @since 0.1.0
 */
public final class Resilience4jStoreCircuit implements StoreCircuit {

	private final CircuitBreaker breaker;

	private final List<Consumer<State>> consumers = new CopyOnWriteArrayList<>();

	private volatile State told = State.CLOSED;

	public Resilience4jStoreCircuit(CircuitBreaker breaker) {
		this.breaker = breaker;
	}

	@Override
	public boolean tryAcquirePermission() {
		boolean permitted = this.breaker.tryAcquirePermission();
		tellChange();
		return permitted;
	}

	@Override
	public void releasePermission() {
		this.breaker.releasePermission();
	}

	@Override
	public void onSuccess(Duration duration) {
		this.breaker.onSuccess(duration.toNanos(), TimeUnit.NANOSECONDS);
		tellChange();
	}

	@Override
	public void onError(Duration duration, Throwable error) {
		this.breaker.onError(duration.toNanos(), TimeUnit.NANOSECONDS, error);
		tellChange();
	}

	@Override
	public void onStateChange(Consumer<State> consumer) {
		this.consumers.add(consumer);
		consumer.accept(state());
	}

	private void tellChange() {
		if (state() != this.told) {
			tell();
		}
	}

	private synchronized void tell() {
		State state = state();
		if (state != this.told) {
			this.told = state;
			this.consumers.forEach((consumer) -> consumer.accept(state));
		}
	}

	private State state() {
		return switch (this.breaker.getState()) {
			case OPEN, FORCED_OPEN -> State.OPEN;
			case HALF_OPEN -> State.HALF_OPEN;
			default -> State.CLOSED;
		};
	}

}
