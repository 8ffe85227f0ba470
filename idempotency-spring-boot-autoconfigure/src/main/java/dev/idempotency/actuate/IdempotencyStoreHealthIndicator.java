package dev.idempotency.actuate;

import java.time.Instant;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.core.NestedExceptionUtils;

import dev.idempotency.IdempotencyListener;
import dev.idempotency.IdempotencyStore;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.StoreCircuit;

/**
 * Down while the circuit breaker of the store is not closed, with the reason, and else if
 * the store does not answer. It learns of the circuit as a listener of the template.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreHealthIndicator extends AbstractHealthIndicator implements IdempotencyListener {

	private final Supplier<IdempotencyStore> store;

	private volatile StoreCircuit.State circuit = StoreCircuit.State.CLOSED;

	private volatile @Nullable Instant since;

	private volatile @Nullable Outage last;

	/**
	 * Create an indicator.
	 * @param store the store, asked for with each check: the template may need this
	 * listener before
	 */
	public IdempotencyStoreHealthIndicator(Supplier<IdempotencyStore> store) {
		super("The idempotency store does not answer");
		this.store = store;
	}

	@Override
	public void circuitChanged(String name, StoreCircuit.State state) {
		if (state == StoreCircuit.State.CLOSED) {
			this.since = null;
		}
		else if (this.since == null) {
			this.since = Instant.now();
		}
		this.circuit = state;
	}

	@Override
	public void storeFailed(String name, OperationBlockedException error) {
		if (error instanceof IdempotencyStoreUnavailableException unavailable) {
			this.last = new Outage(NestedExceptionUtils.getMostSpecificCause(unavailable).getClass().getName(),
					unavailable.code());
		}
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		IdempotencyStore checked = this.store.get();
		builder.withDetail("store", checked.name()).withDetail("circuit", this.circuit);
		checked.warning().ifPresent((warning) -> builder.withDetail("warning", warning));
		Instant open = this.since;
		if (open != null) {
			down(builder, open);
			return;
		}
		checked.ping();
		builder.up();
	}

	// A store that answers a ping may still fail at each claim. It is left alone.
	private void down(Health.Builder builder, Instant open) {
		builder.down().withDetail("since", open);
		Outage outage = this.last;
		if (outage != null) {
			builder.withDetail("error", outage.error());
			if (outage.code() != null) {
				builder.withDetail("code", outage.code());
			}
		}
	}

	/**
	 * Why the store was unavailable. The text of an error may quote values.
	 *
	 * @param error the type of the error
	 * @param code the code of the store, as an SQL state, {@code null} if there is none
	 */
	private record Outage(String error, @Nullable String code) {

	}

}
