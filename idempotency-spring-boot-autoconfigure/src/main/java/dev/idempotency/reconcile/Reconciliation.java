/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.Threads;

/**
 * Compares the records of a listener's topics with the store, one run at a time. A run
 * reads only: it consumes nothing, commits no offset and changes no record of the store.
 * <p>
 * The comparison is not atomic. Records may be consumed and keys may change while it
 * runs, so a finding describes the time at which its key was looked up.
 *
 * @since 0.1.0
 */
public final class Reconciliation implements AutoCloseable {

	/**
	 * The number of findings that a report contains.
	 */
	public static final int REPORTED = 1000;

	private final List<ReconcilableListener> listeners = new CopyOnWriteArrayList<>();

	private final AtomicReference<@Nullable ReconciliationRun> current = new AtomicReference<>();

	/**
	 * Add a listener whose topics can be compared with the store.
	 * @param listener the listener
	 */
	public void add(ReconcilableListener listener) {
		this.listeners.removeIf((other) -> !other.isRegistered());
		this.listeners.add(listener);
	}

	/**
	 * Return the listeners whose topics can be compared with the store.
	 * @return the listeners
	 */
	public List<ReconcilableListener> listeners() {
		return this.listeners.stream().filter(ReconcilableListener::isRegistered).toList();
	}

	/**
	 * Start a run on a thread of its own. The run can be followed with {@link #report()}
	 * and ended with {@link #cancel()}.
	 * @param request the parameters of the run
	 * @return the first report of the run
	 * @throws IllegalArgumentException if there is no such listener, topic or partition
	 * @throws IllegalStateException if another run is in progress
	 */
	public ReconciliationReport start(ReconciliationRequest request) {
		ReconciliationRun run = begin(request, (finding) -> {
		}, (report) -> {
		});
		ReconciliationReport first = run.report();
		Threads.daemon("idempotency-reconciliation", run).start();
		return first;
	}

	/**
	 * Run on the thread of the caller. An unavailable broker or store throws no
	 * exception: the result then has the state {@link ReconciliationReport.State#FAILED}
	 * and the reason. A run that reached its limit or was cancelled has a state of its
	 * own.
	 * @param request the parameters of the run
	 * @param findings receives each listed record, on the thread of the caller
	 * @param progress receives a report every few seconds, on the thread of the caller
	 * @return the result
	 * @throws IllegalArgumentException if there is no such listener, topic or partition
	 * @throws IllegalStateException if another run is in progress
	 */
	public ReconciliationReport run(ReconciliationRequest request, Consumer<ReconciliationFinding> findings,
			Consumer<ReconciliationReport> progress) {
		ReconciliationRun run = begin(request, findings, progress);
		run.run();
		return run.report();
	}

	private ReconciliationRun begin(ReconciliationRequest request, Consumer<ReconciliationFinding> findings,
			Consumer<ReconciliationReport> progress) {
		ReconciliationRun run = new ReconciliationRun(find(request.listener()), request, findings, progress);
		ReconciliationRun previous = this.current.get();
		if ((previous != null && previous.isRunning()) || !this.current.compareAndSet(previous, run)) {
			throw new IllegalStateException("A reconciliation is running. Wait until it has ended, or cancel it");
		}
		return run;
	}

	private ReconcilableListener find(String name) {
		List<ReconcilableListener> matches = listeners().stream()
			.filter((listener) -> listener.id().equals(name) || listener.names().contains(name))
			.toList();
		Assert.isTrue(matches.size() <= 1, () -> "Several listeners have the name '" + name + "'. Use one of the ids "
				+ matches.stream().map(ReconcilableListener::id).toList());
		Assert.isTrue(!matches.isEmpty(), () -> "There is no idempotent listener '" + name + "'. Use one of "
				+ listeners().stream().map((listener) -> listener.id() + " " + listener.names()).toList());
		return matches.get(0);
	}

	/**
	 * Return the report of the current or last run.
	 * @return the report, {@code null} if there was no run
	 */
	public @Nullable ReconciliationReport report() {
		ReconciliationRun run = this.current.get();
		return (run != null) ? run.report() : null;
	}

	/**
	 * Cancel the run in progress. It ends within a few seconds.
	 * @return whether a run was in progress
	 */
	public boolean cancel() {
		ReconciliationRun run = this.current.get();
		return run != null && run.cancel();
	}

	/**
	 * Cancel the run in progress, because the application stops.
	 */
	@Override
	public void close() {
		cancel();
	}

}
