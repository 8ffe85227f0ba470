package dev.idempotency.actuate;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

import dev.idempotency.IdempotencyStore;
import dev.idempotency.StoreCircuit;

/**
 * Whether the store answers, and what its circuit breaker makes of that.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreHealthIndicator extends AbstractHealthIndicator {

	private final IdempotencyStore store;

	private volatile StoreCircuit.State circuit = StoreCircuit.State.CLOSED;

	public IdempotencyStoreHealthIndicator(IdempotencyStore store, StoreCircuit circuit) {
		super("The idempotency store does not answer");
		this.store = store;
		circuit.onStateChange((state) -> this.circuit = state);
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		builder.withDetail("store", this.store.name()).withDetail("circuit", this.circuit);
		this.store.warning().ifPresent((warning) -> builder.withDetail("warning", warning));
		this.store.ping();
		builder.up();
	}

}
