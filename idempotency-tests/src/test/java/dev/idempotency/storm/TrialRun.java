/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

import dev.idempotency.test.kill.ProcessGroup;

/**
 * Two processes of an application under steady traffic.
 */
final class TrialRun implements AutoCloseable {

	static final int PROCESSES = 2;

	static final Duration PATIENCE = Duration.ofMinutes(4);

	private static final int PER_SECOND = 100;

	private final AtomicBoolean ended = new AtomicBoolean();

	private final Trial trial;

	private final ProcessGroup processes;

	private CompletableFuture<Void> sending = CompletableFuture.completedFuture(null);

	TrialRun(Trial trial, Random random) {
		this.trial = trial;
		this.processes = new ProcessGroup(trial.application(), random);
	}

	// Returns when the processes work.
	void begin() {
		for (int i = 0; i < PROCESSES; i++) {
			this.processes.start();
		}
		this.processes.awaitReady();
		this.sending = CompletableFuture.runAsync(this::send);
		Awaitility.await().atMost(PATIENCE).until(() -> this.trial.effects() > PER_SECOND);
	}

	private void send() {
		try {
			this.trial.traffic().sendUntil(this.ended::get, Duration.ofSeconds(1).dividedBy(PER_SECOND));
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	void goOn(Duration time) throws InterruptedException {
		TimeUnit.NANOSECONDS.sleep(time.toNanos());
	}

	// Returns when the broker has acknowledged all payments.
	void endTraffic() throws InterruptedException, ExecutionException {
		this.ended.set(true);
		this.sending.get();
	}

	/**
	 * Wait for the processes.
	 * @return the finding of a run that has not recovered in time, empty if it has
	 */
	String awaitEnd() {
		try {
			await(() -> this.trial.lag() == 0);
			return "";
		}
		catch (ConditionTimeoutException ex) {
			return "not recovered within " + PATIENCE.toSeconds() + " s";
		}
	}

	static void await(Callable<Boolean> condition) {
		Awaitility.await().atMost(PATIENCE).pollInterval(Duration.ofMillis(50)).ignoreExceptions().until(condition);
	}

	@Override
	public void close() {
		this.ended.set(true);
		this.processes.close();
	}

}
