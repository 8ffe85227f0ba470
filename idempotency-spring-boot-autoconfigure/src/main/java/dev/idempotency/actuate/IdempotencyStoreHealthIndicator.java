/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.StoreObserver;

/**
 * Health of the idempotency stores. A store is down while its circuit breaker is not
 * closed, and when it does not answer a ping. After a minute in which no operation was
 * blocked, only the ping counts, because a circuit breaker without calls stays open. The
 * indicator observes the circuit breakers as a listener of the templates. It is down if
 * one of several stores is, and shows each of them.
 *
 * @since 0.1.0
 */
public final class IdempotencyStoreHealthIndicator extends AbstractHealthIndicator
		implements OperationObserver, StoreObserver {

	// A blocked record is redelivered every few seconds, so a minute without one means
	// that no operation is blocked.
	private static final Duration QUIET = Duration.ofMinutes(1);

	private final Supplier<Map<String, IdempotencyStore>> stores;

	private final long quiet;

	private final Map<String, Circuit> circuits = new ConcurrentHashMap<>();

	private volatile long blockedAt = System.nanoTime();

	/**
	 * Create an indicator.
	 * @param stores supplies the stores by their names at each check; the templates that
	 * create them need this listener first
	 */
	public IdempotencyStoreHealthIndicator(Supplier<Map<String, IdempotencyStore>> stores) {
		this(stores, QUIET);
	}

	IdempotencyStoreHealthIndicator(Supplier<Map<String, IdempotencyStore>> stores, Duration quiet) {
		super("The idempotency store does not answer");
		this.stores = stores;
		this.quiet = quiet.toNanos();
	}

	private Circuit circuit(String store) {
		return this.circuits.computeIfAbsent(store, (name) -> new Circuit());
	}

	@Override
	public void circuitChanged(String name, StoreCircuit.State state) {
		circuit(name).changed(state);
	}

	@Override
	public void handled(HandledOperation execution) {
		if (execution.outcome() == Outcome.UNAVAILABLE) {
			this.blockedAt = System.nanoTime();
		}
	}

	@Override
	public void storeFailed(String name, OperationBlockedException error) {
		if (error instanceof IdempotencyStoreUnavailableException unavailable) {
			this.blockedAt = System.nanoTime();
			// The message of the error may quote values.
			Map<String, Object> details = new LinkedHashMap<>();
			details.put("error", ExceptionCauses.last(unavailable).getClass().getName());
			if (unavailable.code() != null) {
				details.put("code", unavailable.code());
			}
			circuit(name).lastOutage = details;
		}
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		Map<String, IdempotencyStore> checked = this.stores.get();
		if (checked.size() == 1) {
			checked.forEach((name, store) -> check(name, store, builder));
			return;
		}
		builder.up();
		checked.forEach((name, store) -> {
			Health health = health(name, store);
			Map<String, Object> details = new LinkedHashMap<>();
			details.put("status", health.getStatus().getCode());
			details.putAll(health.getDetails());
			builder.withDetail(name, details);
			if (!health.getStatus().equals(Status.UP)) {
				builder.down();
			}
		});
	}

	private Health health(String name, IdempotencyStore store) {
		Health.Builder builder = new Health.Builder();
		try {
			check(name, store, builder);
		}
		catch (RuntimeException ex) {
			builder.down(ex);
		}
		return builder.build();
	}

	private void check(String name, IdempotencyStore store, Health.Builder builder) {
		Circuit circuit = circuit(name);
		builder.withDetail("store", name).withDetail("circuit", circuit.state);
		store.warning().ifPresent((warning) -> builder.withDetail("warning", warning));
		Instant open = circuit.since;
		if (open != null && System.nanoTime() - this.blockedAt < this.quiet) {
			// The store may answer a ping and still fail at each claim.
			builder.down().withDetail("since", open).withDetails(circuit.lastOutage);
			return;
		}
		store.ping();
		builder.up();
	}

	/**
	 * The circuit breaker of a store, as this indicator has observed it.
	 */
	private static final class Circuit {

		private volatile StoreCircuit.State state = StoreCircuit.State.CLOSED;

		private volatile @Nullable Instant since;

		// The details of the last call that found the store unavailable.
		private volatile Map<String, Object> lastOutage = Map.of();

		void changed(StoreCircuit.State changed) {
			if (changed == StoreCircuit.State.CLOSED) {
				this.since = null;
			}
			else if (this.since == null) {
				this.since = Instant.now();
			}
			this.state = changed;
		}

	}

}
