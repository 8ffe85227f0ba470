/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
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
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.StoreObserver;

/**
 * Publishes meters about operations and the store. Tag values come from bounded sets; no
 * tag is an idempotency key.
 * <ul>
 * <li>{@code idempotency.process}, timer: {@code listener}, {@code mode}, {@code outcome}
 * (see {@link dev.idempotency.template.OperationObserver.Outcome})</li>
 * <li>{@code idempotency.store}, timer: {@code store}, {@code operation}, {@code outcome}
 * ({@code ok}, {@code refused}, {@code unavailable})</li>
 * <li>{@code idempotency.blocked.age}, gauge, seconds since the record of the listener
 * that has been blocked for the longest time in this instance was blocked, 0 if there is
 * none: {@code listener}</li>
 * <li>{@code idempotency.circuit.open}, gauge, 1 while the circuit breaker is open or
 * half open: {@code store}</li>
 * <li>{@code idempotency.redis.eviction}, gauge, 1 while a server may evict records
 * before their retention ends: {@code store}</li>
 * <li>{@code idempotency.completion.failed}, counter: {@code listener}</li>
 * <li>{@code idempotency.completion.pending}, gauge: {@code listener}</li>
 * <li>{@code idempotency.completion.settled}, counter: {@code listener}, {@code outcome}
 * ({@code settled}, {@code lost})</li>
 * <li>{@code idempotency.endpoint.writes}, counter: {@code operation} (see
 * {@link dev.idempotency.template.OperationObserver.Intervention}), {@code outcome}
 * ({@code done}, {@code refused})</li>
 * <li>{@code idempotency.key.missing}, counter: {@code listener}, {@code policy}</li>
 * <li>{@code idempotency.result.not.stored}, counter: {@code listener}</li>
 * <li>{@code idempotency.cleanup.deleted}, counter: {@code table}</li>
 * <li>{@code idempotency.cleanup.duration}, timer: {@code table}</li>
 * <li>{@code idempotency.cleanup.backlog.age}, gauge, seconds since the oldest record
 * that the last run has left expired, 0 if there is none: {@code table}</li>
 * </ul>
 *
 * @since 0.1.0
 */
public final class IdempotencyMetrics implements OperationObserver, StoreObserver {

	private final MeterRegistry registry;

	// Building the tags of a meter for each record would cost more than counting it.
	private final Map<List<?>, Timer> timers = new ConcurrentHashMap<>();

	private final Map<List<String>, AtomicInteger> gauges = new ConcurrentHashMap<>();

	private final Map<String, AtomicLong> backlogs = new ConcurrentHashMap<>();

	private final Map<String, Set<BlockedRecord>> blocked = new ConcurrentHashMap<>();

	public IdempotencyMetrics(MeterRegistry registry) {
		this.registry = registry;
	}

	@Override
	public void handled(HandledOperation execution) {
		this.timers.computeIfAbsent(List.of(execution.listener(), execution.mode(), execution.outcome()),
				(handled) -> timer("idempotency.process", "Processing of a record under its key, including the handler",
						"listener", execution.listener(), "mode", value(execution.mode()), "outcome",
						value(execution.outcome())))
			.record(execution.duration());
	}

	@Override
	public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
		this.timers
			.computeIfAbsent(List.of(store, call, outcome),
					(called) -> timer("idempotency.store", "Calls of the idempotency store", "store", store,
							"operation", value(call), "outcome", value(outcome)))
			.record(duration);
	}

	@Override
	public void blocked(BlockedRecord record) {
		this.blocked.computeIfAbsent(record.listener(), this::blockedAge).add(record);
	}

	@Override
	public void unblocked(BlockedRecord record) {
		this.blocked.computeIfAbsent(record.listener(), this::blockedAge).remove(record);
	}

	private Set<BlockedRecord> blockedAge(String listener) {
		Set<BlockedRecord> records = ConcurrentHashMap.newKeySet();
		TimeGauge.builder("idempotency.blocked.age", records, TimeUnit.MILLISECONDS, IdempotencyMetrics::age)
			.description("Time since the record that is blocked for the longest time was blocked")
			.tag("listener", listener)
			.register(this.registry);
		return records;
	}

	private static long age(Set<BlockedRecord> records) {
		Instant now = Instant.now();
		return records.stream()
			.mapToLong((record) -> Math.max(0, Duration.between(record.since(), now).toMillis()))
			.max()
			.orElse(0);
	}

	@Override
	public void circuitChanged(String store, StoreCircuit.State state) {
		gauge("idempotency.circuit.open",
				"Whether the circuit breaker of the idempotency store is open or half open, 1 or 0", "store", store)
			.set((state != StoreCircuit.State.CLOSED) ? 1 : 0);
	}

	@Override
	public void evictionChecked(String store, boolean possible) {
		gauge("idempotency.redis.eviction",
				"Whether a server of the idempotency store may evict records before their retention ends, 1 or 0",
				"store", store)
			.set(possible ? 1 : 0);
	}

	@Override
	public void completionFailed(String listener, IdempotencyKey key) {
		count(1, "idempotency.completion.failed", "Completions that could not be recorded at the first attempt",
				"listener", listener);
		pending(listener).incrementAndGet();
	}

	@Override
	public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
		pending(listener).decrementAndGet();
		count(1, "idempotency.completion.settled", "Pending completions that have been settled", "listener", listener,
				"outcome", value(settlement));
	}

	private AtomicInteger pending(String listener) {
		return gauge("idempotency.completion.pending",
				"Pending completions: the handler has run, the store was unavailable", "listener", listener);
	}

	@Override
	public void intervened(Intervention intervention, boolean done, String description) {
		count(1, "idempotency.endpoint.writes", "Interventions of operators", "operation", value(intervention),
				"outcome", done ? "done" : "refused");
	}

	@Override
	public void keyMissing(String listener, MissingKeyPolicy policy) {
		count(1, "idempotency.key.missing", "Records without a usable idempotency key", "listener", listener, "policy",
				value(policy));
	}

	@Override
	public void resultNotStored(String listener, IdempotencyKey key) {
		count(1, "idempotency.result.not.stored", "Completed operations whose results could not be stored", "listener",
				listener);
	}

	@Override
	public void cleanedUp(String table, int deleted) {
		count(deleted, "idempotency.cleanup.deleted", "Expired idempotency records that were deleted", "table", table);
	}

	@Override
	public void cleanupEnded(String table, Duration duration, Duration backlogAge) {
		timer("idempotency.cleanup.duration", "Duration of the cleanup of expired idempotency records", "table", table)
			.record(duration);
		this.backlogs.computeIfAbsent(table, this::backlog).set(backlogAge.toMillis());
	}

	private AtomicLong backlog(String table) {
		AtomicLong millis = new AtomicLong();
		TimeGauge.builder("idempotency.cleanup.backlog.age", millis::get, TimeUnit.MILLISECONDS)
			.description("Time since the expiry of the oldest record that the last cleanup has left")
			.tag("table", table)
			.register(this.registry);
		return millis;
	}

	private AtomicInteger gauge(String name, String description, String tag, String value) {
		return this.gauges.computeIfAbsent(List.of(name, value), (key) -> {
			AtomicInteger number = new AtomicInteger();
			Gauge.builder(name, number, AtomicInteger::get)
				.description(description)
				.tag(tag, value)
				.register(this.registry);
			return number;
		});
	}

	private void count(int amount, String name, String description, String... tags) {
		Counter.builder(name).description(description).tags(tags).register(this.registry).increment(amount);
	}

	private Timer timer(String name, String description, String... tags) {
		return Timer.builder(name).description(description).tags(tags).register(this.registry);
	}

	static String value(Enum<?> constant) {
		return constant.name().toLowerCase(Locale.ROOT);
	}

}
