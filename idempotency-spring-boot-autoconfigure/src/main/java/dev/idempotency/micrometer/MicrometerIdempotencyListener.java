package dev.idempotency.micrometer;

import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.TimeGauge;
import io.micrometer.core.instrument.Timer;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.store.Settlement;
import dev.idempotency.template.IdempotencyListener;
import dev.idempotency.template.StoreCircuit;

/**
 * Publishes meters; every tag comes from a bounded set, and none is a key.
 * <ul>
 * <li>{@code idempotency.process}, timer: {@code listener}, {@code mode}, {@code outcome}
 * (see {@link dev.idempotency.template.IdempotencyListener.Outcome})</li>
 * <li>{@code idempotency.store}, timer: {@code store}, {@code operation}, {@code outcome}
 * ({@code ok}, {@code unavailable})</li>
 * <li>{@code idempotency.circuit.open}, gauge, 1 while the circuit breaker is open or
 * half open: {@code store}</li>
 * <li>{@code idempotency.redis.eviction}, gauge, 1 while a server may evict records
 * before their retention ends: {@code store}</li>
 * <li>{@code idempotency.completion.failed}, counter: {@code listener}</li>
 * <li>{@code idempotency.completion.pending}, gauge: {@code listener}</li>
 * <li>{@code idempotency.completion.settled}, counter: {@code listener}, {@code outcome}
 * ({@code settled}, {@code lost})</li>
 * <li>{@code idempotency.endpoint.writes}, counter: {@code operation} (see
 * {@link dev.idempotency.template.IdempotencyListener.Intervention}), {@code outcome}
 * ({@code done}, {@code refused})</li>
 * <li>{@code idempotency.key.missing}, counter: {@code listener}, {@code policy}</li>
 * <li>{@code idempotency.cleanup.deleted}, counter: {@code table}</li>
 * <li>{@code idempotency.cleanup.duration}, timer: {@code table}</li>
 * <li>{@code idempotency.cleanup.backlog.age}, gauge, seconds since the oldest record
 * that the last run has left expired, 0 if there is none: {@code table}</li>
 * </ul>
 *
 * @since 0.1.0
 */
public final class MicrometerIdempotencyListener implements IdempotencyListener {

	private final MeterRegistry registry;

	private final Map<Processed, Timer> processed = new ConcurrentHashMap<>();

	private final Map<Called, Timer> called = new ConcurrentHashMap<>();

	private final Map<String, AtomicInteger> pending = new ConcurrentHashMap<>();

	private final Map<String, AtomicInteger> circuits = new ConcurrentHashMap<>();

	private final Map<String, AtomicInteger> evictions = new ConcurrentHashMap<>();

	private final Map<String, AtomicLong> backlogs = new ConcurrentHashMap<>();

	public MicrometerIdempotencyListener(MeterRegistry registry) {
		this.registry = registry;
	}

	@Override
	public void executed(Execution execution) {
		this.processed
			.computeIfAbsent(new Processed(execution.listener(), execution.mode(), execution.outcome()), this::timer)
			.record(execution.duration());
	}

	@Override
	public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
		this.called.computeIfAbsent(new Called(store, call, outcome), this::timer).record(duration);
	}

	@Override
	public void circuitChanged(String store, StoreCircuit.State state) {
		this.circuits.computeIfAbsent(store, this::gauge).set((state != StoreCircuit.State.CLOSED) ? 1 : 0);
	}

	@Override
	public void evictionChecked(String store, boolean possible) {
		this.evictions.computeIfAbsent(store, this::eviction).set(possible ? 1 : 0);
	}

	private AtomicInteger eviction(String store) {
		AtomicInteger possible = new AtomicInteger();
		Gauge.builder("idempotency.redis.eviction", possible, AtomicInteger::get)
			.description("Whether a server of the idempotency store may evict records before their retention ends")
			.tag("store", store)
			.register(this.registry);
		return possible;
	}

	private AtomicInteger gauge(String store) {
		AtomicInteger open = new AtomicInteger();
		Gauge.builder("idempotency.circuit.open", open, AtomicInteger::get)
			.description("Whether the circuit breaker of the idempotency store keeps claims away from it")
			.tag("store", store)
			.register(this.registry);
		return open;
	}

	@Override
	public void completionFailed(String listener, IdempotencyKey key) {
		counter("idempotency.completion.failed",
				"Handlers that have run and whose completion the store did not take at first", "listener", listener)
			.increment();
		this.pending.computeIfAbsent(listener, this::pending).incrementAndGet();
	}

	@Override
	public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
		this.pending.computeIfAbsent(listener, this::pending).decrementAndGet();
		counter("idempotency.completion.settled",
				"Completions that the store did not take at first, and that have been settled", "listener", listener,
				"outcome", value(settlement))
			.increment();
	}

	private AtomicInteger pending(String listener) {
		AtomicInteger pending = new AtomicInteger();
		Gauge.builder("idempotency.completion.pending", pending, AtomicInteger::get)
			.description("Handlers that have run and whose completion the store has not taken yet")
			.tag("listener", listener)
			.register(this.registry);
		return pending;
	}

	@Override
	public void intervened(Intervention intervention, boolean done) {
		counter("idempotency.endpoint.writes", "Changes that somebody has asked for by hand", "operation",
				value(intervention), "outcome", done ? "done" : "refused")
			.increment();
	}

	@Override
	public void keyMissing(String listener, MissingKeyPolicy policy) {
		counter("idempotency.key.missing", "Records without a usable idempotency key", "listener", listener, "policy",
				value(policy))
			.increment();
	}

	@Override
	public void cleanedUp(String table, int deleted) {
		counter("idempotency.cleanup.deleted", "Expired idempotency records that were deleted", "table", table)
			.increment(deleted);
	}

	@Override
	public void cleanupEnded(String table, Duration duration, Duration backlogAge) {
		Timer.builder("idempotency.cleanup.duration")
			.description("Runs of the cleanup of expired idempotency records")
			.tag("table", table)
			.register(this.registry)
			.record(duration);
		this.backlogs.computeIfAbsent(table, this::backlog).set(backlogAge.toMillis());
	}

	private AtomicLong backlog(String table) {
		AtomicLong millis = new AtomicLong();
		TimeGauge.builder("idempotency.cleanup.backlog.age", millis::get, TimeUnit.MILLISECONDS)
			.description("Time since the oldest idempotency record expired that the last cleanup has left")
			.tag("table", table)
			.register(this.registry);
		return millis;
	}

	private Counter counter(String name, String description, String... tags) {
		return Counter.builder(name).description(description).tags(tags).register(this.registry);
	}

	private Timer timer(Processed key) {
		return Timer.builder("idempotency.process")
			.description("Records handled under a key, the handler included")
			.tag("listener", key.listener())
			.tag("mode", value(key.mode()))
			.tag("outcome", value(key.outcome()))
			.register(this.registry);
	}

	private Timer timer(Called key) {
		return Timer.builder("idempotency.store")
			.description("Calls of the idempotency store")
			.tag("store", key.store())
			.tag("operation", value(key.call()))
			.tag("outcome", value(key.outcome()))
			.register(this.registry);
	}

	private static String value(Enum<?> constant) {
		return constant.name().toLowerCase(Locale.ROOT);
	}

	private record Processed(String listener, Mode mode, Outcome outcome) {

	}

	private record Called(String store, StoreCall call, StoreOutcome outcome) {

	}

}
