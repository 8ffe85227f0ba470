package dev.idempotency.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.core.NestedExceptionUtils;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.StoreCircuit;

/**
 * Health of the idempotency store. It is down while the circuit breaker of the store is
 * not closed, and when the store does not answer a ping. After a minute in which no
 * operation was blocked, only the ping counts, because a circuit breaker without calls
 * stays open. The indicator observes the circuit breaker as a listener of the template.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreHealthIndicator extends AbstractHealthIndicator implements IdempotencyListener {

	// A blocked record is redelivered every few seconds, so a minute without one means
	// that no operation is blocked.
	private static final Duration QUIET = Duration.ofMinutes(1);

	private final Supplier<IdempotencyStore> store;

	private final long quiet;

	private volatile StoreCircuit.State circuit = StoreCircuit.State.CLOSED;

	private volatile @Nullable Instant since;

	private volatile @Nullable Outage last;

	private volatile long blockedAt = System.nanoTime();

	/**
	 * Create an indicator.
	 * @param store supplies the store at each check; the template that creates it needs
	 * this listener first
	 */
	public IdempotencyStoreHealthIndicator(Supplier<IdempotencyStore> store) {
		this(store, QUIET);
	}

	IdempotencyStoreHealthIndicator(Supplier<IdempotencyStore> store, Duration quiet) {
		super("The idempotency store does not answer");
		this.store = store;
		this.quiet = quiet.toNanos();
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
	public void executed(Execution execution) {
		if (execution.outcome() == Outcome.UNAVAILABLE) {
			this.blockedAt = System.nanoTime();
		}
	}

	@Override
	public void storeFailed(String name, OperationBlockedException error) {
		if (error instanceof IdempotencyStoreUnavailableException unavailable) {
			this.blockedAt = System.nanoTime();
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
		if (open != null && System.nanoTime() - this.blockedAt < this.quiet) {
			down(builder, open);
			return;
		}
		checked.ping();
		builder.up();
	}

	// The store may answer a ping and still fail at each claim, so there is no ping here.
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
	 * The reason why the store was unavailable, without the message of the error, which
	 * may quote values.
	 *
	 * @param error the type of the error
	 * @param code the code of the store, as an SQL state, {@code null} if there is none
	 */
	private record Outage(String error, @Nullable String code) {

	}

}
