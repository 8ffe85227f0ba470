package dev.idempotency.actuate;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

import dev.idempotency.IdempotencyStore;

/**
 * Whether the store answers.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreHealthIndicator extends AbstractHealthIndicator {

	private final IdempotencyStore store;

	public IdempotencyStoreHealthIndicator(IdempotencyStore store) {
		super("The idempotency store does not answer");
		this.store = store;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		builder.withDetail("store", this.store.name());
		this.store.ping();
		builder.up();
	}

}
