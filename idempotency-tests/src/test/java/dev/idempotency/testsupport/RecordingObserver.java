/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CopyOnWriteArrayList;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.StoreCircuit;
import dev.idempotency.template.StoreObserver;

/**
 * Records the events of which it is notified.
 */
public final class RecordingObserver implements OperationObserver, StoreObserver {

	private final List<HandledOperation> executions = new CopyOnWriteArrayList<>();

	private final List<String> storeCalls = new CopyOnWriteArrayList<>();

	private final List<String> circuits = new CopyOnWriteArrayList<>();

	private final List<String> completions = new CopyOnWriteArrayList<>();

	private final List<String> interventions = new CopyOnWriteArrayList<>();

	private final List<OperationBlockedException> storeErrors = new CopyOnWriteArrayList<>();

	@Override
	public void completionFailed(String listener, IdempotencyKey key) {
		this.completions.add("failed " + key.value());
	}

	@Override
	public void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
		this.completions.add(settlement + " " + key.value());
	}

	@Override
	public void resultNotStored(String listener, IdempotencyKey key) {
		this.completions.add("without result " + key.value());
	}

	@Override
	public void intervened(Intervention intervention, boolean done, String description) {
		this.interventions.add(intervention + (done ? " done" : " refused"));
	}

	/**
	 * Return the pending completions and their outcomes, and the completions without a
	 * result.
	 * @return the events
	 */
	public List<String> completions() {
		return this.completions;
	}

	public List<String> interventions() {
		return this.interventions;
	}

	@Override
	public void circuitChanged(String store, StoreCircuit.State state) {
		this.circuits.add(store + " " + state);
	}

	public List<String> circuits() {
		return this.circuits;
	}

	@Override
	public void handled(HandledOperation execution) {
		this.executions.add(execution);
	}

	@Override
	public void storeCalled(String store, StoreCall call, StoreOutcome outcome, Duration duration) {
		this.storeCalls.add(store + " " + call
				+ ((outcome != StoreOutcome.OK) ? " " + outcome.name().toLowerCase(Locale.ROOT) : ""));
	}

	@Override
	public void storeFailed(String store, OperationBlockedException error) {
		this.storeErrors.add(error);
	}

	public List<OperationBlockedException> storeErrors() {
		return this.storeErrors;
	}

	/**
	 * Return this observer for a template.
	 */
	public Observers observers() {
		return new Observers(List.of(this), List.of(this));
	}

	public List<HandledOperation> executions() {
		return this.executions;
	}

	public List<Outcome> outcomes() {
		return this.executions.stream().map(HandledOperation::outcome).toList();
	}

	public List<Outcome> outcomes(IdempotencyKey key) {
		return this.executions.stream()
			.filter((execution) -> key.equals(execution.key()))
			.map(HandledOperation::outcome)
			.toList();
	}

	public List<String> storeCalls() {
		return this.storeCalls;
	}

}
