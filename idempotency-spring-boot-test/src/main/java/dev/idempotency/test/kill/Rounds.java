/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

import dev.idempotency.test.kill.Interruption.Kind;

/**
 * The rounds of one run: each sends traffic and interrupts a process while work is in
 * flight.
 */
final class Rounds {

	private static final Duration POLL = Duration.ofMillis(10);

	private final List<Interruption> done = new ArrayList<>();

	private final long start = System.nanoTime();

	private final RunSettings settings;

	private final ProcessGroup processes;

	private final PendingCounter pending;

	private final Random random;

	// Of its own, because the traffic runs in another thread.
	private final Random trafficRandom;

	private final Map<String, Integer> sent;

	private int number;

	Rounds(RunSettings settings, ProcessGroup processes, PendingCounter pending, Random random,
			Map<String, Integer> sent) {
		this.settings = settings;
		this.processes = processes;
		this.pending = pending;
		this.random = random;
		this.trafficRandom = new Random(settings.seed() + 1);
		this.sent = sent;
	}

	List<Interruption> run(List<Kind> plan) {
		if (plan.isEmpty()) {
			awaitEnd(send());
		}
		int late = 0;
		for (Kind kind : plan) {
			while (!interrupt(kind)) {
				if (++late > plan.size()) {
					throw failure(late + " of " + this.number + " rounds found no work to interrupt. Send more "
							+ "operations in each round, so that processing them takes some seconds");
				}
			}
		}
		return this.done;
	}

	private CompletableFuture<Void> send() {
		Round round = new Round(++this.number, this.trafficRandom, this.processes, this.sent);
		CompletableFuture<Void> sending = new CompletableFuture<>();
		Thread thread = new Thread(() -> {
			try {
				this.settings.traffic().send(round);
				sending.complete(null);
			}
			catch (Throwable ex) {
				sending.completeExceptionally(ex);
			}
		}, "kill-harness-traffic-" + this.number);
		thread.setDaemon(true);
		thread.start();
		return sending;
	}

	private void awaitEnd(CompletableFuture<Void> sending) {
		boolean ended = Waiting.until(this.settings.timeout(), POLL, () -> {
			this.processes.checkAlive();
			return sending.isDone();
		});
		if (!ended) {
			throw failure("the traffic of round " + this.number + " has not ended within "
					+ this.settings.timeout().toSeconds() + " s");
		}
		try {
			sending.join();
		}
		catch (CompletionException ex) {
			IllegalStateException failure = failure("the traffic of round " + this.number + " has failed");
			failure.initCause(ex.getCause());
			throw failure;
		}
	}

	// Returns whether work was in flight when the process was interrupted.
	private boolean interrupt(Kind kind) {
		Moment moment = Moment.random(this.random);
		CompletableFuture<Void> sending = send();
		if (!awaitMoment(moment, sending)) {
			awaitEnd(sending);
			this.settings.progress()
				.accept("round %d: all work was done before a process could be interrupted, the round is repeated"
					.formatted(this.number));
			return false;
		}
		ChildProcess process = switch (kind) {
			case KILLED -> this.processes.kill();
			case TERMINATED -> this.processes.terminate();
			case FROZEN -> this.processes.freeze();
		};
		boolean stillSending = !sending.isDone();
		long left = countPending();
		Duration at = Duration.ofNanos(System.nanoTime() - this.start);
		Interruption interruption = new Interruption(this.number, kind, process.pid(), left, stillSending || left > 0,
				at);
		this.done.add(interruption);
		this.settings.progress()
			.accept("round %d: %s process %d after %d s with %d pending%s".formatted(this.number, kind.verb(),
					process.pid(), at.toSeconds(), left,
					interruption.inFlight() ? "" : ". That was too late, the round is repeated"));
		if (kind == Kind.FROZEN) {
			Waiting.sleep(this.settings.freeze());
			process.resume();
		}
		else {
			this.processes.start();
		}
		awaitEnd(sending);
		return interruption.inFlight();
	}

	// Returns false if all work was done before the moment.
	private boolean awaitMoment(Moment moment, CompletableFuture<Void> sending) {
		boolean[] missed = { false };
		boolean come = Waiting.until(this.settings.timeout(), POLL, () -> {
			// In this order: what is sent in between is counted.
			boolean sent = sending.isDone();
			long count = this.pending.read();
			missed[0] = sent && count == 0;
			return missed[0] || (moment.hasCome(sent, count) && !this.processes.readyNow().isEmpty());
		});
		if (!come) {
			throw failure("round %d had no moment to interrupt a process within %d s: %s".formatted(this.number,
					this.settings.timeout().toSeconds(), this.pending));
		}
		return !missed[0];
	}

	private long countPending() {
		Waiting.until(this.settings.timeout(), POLL, () -> this.pending.read() != PendingCounter.UNKNOWN);
		return this.pending.last();
	}

	private IllegalStateException failure(String text) {
		return new IllegalStateException(
				this.settings.name() + ": " + text + ". The seed is " + this.settings.seed() + ". " + this.processes);
	}

}
