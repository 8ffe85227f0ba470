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
 * Down while the circuit breaker of the store is not closed, with the reason, and else if
 * the store does not answer. When the store has been asked for nothing for a minute, only
 * its answer counts: a circuit that nobody asks stays open. It learns of the circuit as a
 * listener of the template.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreHealthIndicator extends AbstractHealthIndicator implements IdempotencyListener {

	// While a record waits it is redelivered every few seconds.
	private static final Duration QUIET = Duration.ofMinutes(1);

	private final Supplier<IdempotencyStore> store;

	private final long quiet;

	private volatile StoreCircuit.State circuit = StoreCircuit.State.CLOSED;

	private volatile @Nullable Instant since;

	private volatile @Nullable Outage last;

	// When an operation was last blocked because the store was unavailable.
	private volatile long blockedAt = System.nanoTime();

	/**
	 * Create an indicator.
	 * @param store the store, asked for with each check: the template may need this
	 * listener before
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
