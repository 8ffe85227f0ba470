package dev.idempotency.micrometer;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;

import dev.idempotency.outbox.OutboxListener;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStatus;

/**
 * Publishes meters of an outbox, all with the tag {@code table}. The gauges exist after
 * the first look at the outbox, and show what the last look has found.
 * <ul>
 * <li>{@code idempotency.outbox.publish}, timer, from sending a message to the answer of
 * the broker: {@code outcome} (see {@link dev.idempotency.outbox.OutboxListener.Outcome})
 * </li>
 * <li>{@code idempotency.outbox.pending}, gauge, messages that are to be published</li>
 * <li>{@code idempotency.outbox.blocked}, gauge, messages that wait because an earlier
 * one with their topic and key was given up</li>
 * <li>{@code idempotency.outbox.age}, gauge, seconds since the oldest of both was sent, 0
 * if there is none; if nobody could look for 15 seconds, as much as it would be since
 * then if nothing had been published</li>
 * <li>{@code idempotency.outbox.set.aside}, gauge, messages that were given up</li>
 * </ul>
 *
 * @since 0.1.0
 */
public final class MicrometerOutboxListener implements OutboxListener {

	// For three looks.
	private static final Duration FRESH = Duration.ofSeconds(15);

	private final MeterRegistry registry;

	private final String table;

	// All from the beginning: a rate does not see the first event of a new one.
	private final Map<Outcome, Timer> published = new EnumMap<>(Outcome.class);

	private final AtomicBoolean observed = new AtomicBoolean();

	private volatile OutboxStatus status = new OutboxStatus(0, Duration.ZERO, 0, 0);

	private volatile long observedAt;

	/**
	 * Create a listener.
	 * @param registry where the meters are
	 * @param table the name of the outbox's table
	 */
	public MicrometerOutboxListener(MeterRegistry registry, String table) {
		this.registry = registry;
		this.table = table;
		for (Outcome outcome : Outcome.values()) {
			this.published.put(outcome, timer(outcome));
		}
	}

	private Timer timer(Outcome outcome) {
		return Timer.builder("idempotency.outbox.publish")
			.description("Messages of the outbox that were given to the broker, from sending them to its answer")
			.tag("table", this.table)
			.tag("outcome", outcome.name().toLowerCase(Locale.ROOT))
			.register(this.registry);
	}

	@Override
	public void attempted(OutboxRow row, Outcome outcome, Duration duration) {
		Timer timer = this.published.get(outcome);
		if (timer != null) {
			timer.record(duration);
		}
	}

	@Override
	public void observed(OutboxStatus status) {
		this.status = status;
		this.observedAt = this.registry.config().clock().monotonicTime();
		if (this.observed.compareAndSet(false, true)) {
			register();
		}
	}

	private void register() {
		Gauge.builder("idempotency.outbox.pending", this, (listener) -> listener.status.pending())
			.description("Messages of the outbox that are to be published")
			.tag("table", this.table)
			.register(this.registry);
		TimeGauge.builder("idempotency.outbox.age", this, TimeUnit.MILLISECONDS, MicrometerOutboxListener::age)
			.description("Time since the oldest message was sent that is to be published or blocked")
			.tag("table", this.table)
			.register(this.registry);
		Gauge.builder("idempotency.outbox.blocked", this, (listener) -> listener.status.blocked())
			.description(
					"Messages of the outbox that wait for an earlier one with their topic and key that is set aside")
			.tag("table", this.table)
			.register(this.registry);
		Gauge.builder("idempotency.outbox.set.aside", this, (listener) -> listener.status.setAside())
			.description("Messages of the outbox that the broker has refused too often")
			.tag("table", this.table)
			.register(this.registry);
	}

	// A database that does not answer publishes nothing, either.
	private long age() {
		long since = TimeUnit.NANOSECONDS.toMillis(this.registry.config().clock().monotonicTime() - this.observedAt);
		return this.status.oldest().toMillis() + ((since > FRESH.toMillis()) ? since : 0);
	}

}
