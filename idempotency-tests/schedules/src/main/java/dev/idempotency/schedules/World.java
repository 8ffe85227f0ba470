/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Supplier;

import dev.idempotency.IdempotencyKey;

/**
 * Everything that the threads of one schedule share: the store, the instances, the faults
 * and the history. All chances come from one seed.
 */
final class World {

	private static final int HUNDRED = 100;

	// Another instance retries a pending settlement after 30 seconds at the latest, and a
	// missing permission is replaced after a minute.
	private static final Duration LONGEST_BLOCK = Duration.ofSeconds(50);

	// The longest backoff of a settlement is 30 seconds.
	private static final Duration QUIET = Duration.ofSeconds(120);

	private final List<String> violations = new ArrayList<>();

	private final History history = new History(this::violation);

	private final SharedStore store = new SharedStore();

	private final List<Instance> instances = new ArrayList<>();

	private final List<Thread> threads = new ArrayList<>();

	private final Set<String> keys = new LinkedHashSet<>();

	private final SplittableRandom random;

	private final Faults faults;

	// Longer than a schedule waits for a key: a claim that is not released is noticed.
	private Duration lease = Duration.ofMinutes(10);

	private Duration longestHandler = Duration.ofMillis(50);

	private int failures;

	// The number of deliveries that have not returned.
	private int deliveries;

	private boolean ended;

	World(long seed) {
		this.random = new SplittableRandom(seed);
		this.faults = new Faults(this.random.split());
	}

	Faults faults() {
		return this.faults;
	}

	History history() {
		return this.history;
	}

	void setLease(Duration lease) {
		this.lease = lease;
	}

	Duration lease() {
		return this.lease;
	}

	void setLongestHandler(Duration longest) {
		this.longestHandler = longest;
	}

	Duration longestHandler() {
		return this.longestHandler;
	}

	void setFailures(int failures) {
		this.failures = failures;
	}

	boolean nextFails() {
		if (this.failures == 0 || !chance(20)) {
			return false;
		}
		this.failures--;
		return true;
	}

	Instance instance() {
		return new Instance(this, "p" + (this.instances.size() + 1));
	}

	void add(Instance instance) {
		this.instances.add(instance);
	}

	SharedStore store() {
		return this.store;
	}

	// Return the key of an operation, which is delivered once more at the end.
	IdempotencyKey key(String value) {
		this.keys.add(value);
		return IdempotencyKey.of("s", value);
	}

	boolean chance(int percent) {
		return this.random.nextInt(HUNDRED) < percent;
	}

	int choose(int bound) {
		return this.random.nextInt(bound);
	}

	<T> T deliver(Supplier<T> delivery) {
		this.deliveries++;
		try {
			return delivery.get();
		}
		finally {
			this.deliveries--;
		}
	}

	// Whether neither a fault nor another delivery explains that a record is blocked. The
	// scheduler may not have run the thread of another delivery for a long time.
	boolean isStuck(long startNanos) {
		return this.deliveries == 0 && System.nanoTime() - startNanos > LONGEST_BLOCK.toNanos()
				&& this.faults.sinceLast().compareTo(LONGEST_BLOCK) > 0;
	}

	// Sleep for a time that the seed decides.
	void pause(Duration longest) {
		sleep(Duration.ofMillis(1 + this.random.nextLong(longest.toMillis())));
	}

	// Sleep in virtual time.
	static void sleep(Duration time) {
		try {
			Thread.sleep(time.toMillis());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	void start(String name, Runnable task) {
		Thread thread = new Thread(() -> {
			try {
				task.run();
			}
			catch (Throwable ex) {
				if (!isTermination(ex)) {
					violation("The thread " + name + " has ended with " + ex);
					ex.printStackTrace();
				}
			}
		}, name);
		this.threads.add(thread);
		thread.start();
	}

	// The scheduler ends the threads of a schedule with this exception.
	private static boolean isTermination(Throwable error) {
		return error.getClass().getName().startsWith("org.pastalab.fray.");
	}

	void join() {
		for (Thread thread : List.copyOf(this.threads)) {
			try {
				thread.join();
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}
	}

	void violation(String text) {
		if (!this.ended) {
			this.violations.add(text);
		}
	}

	List<String> violations() {
		return this.violations;
	}

	// From now on the store is healthy, so everything must come to rest.
	void finish() {
		join();
		this.faults.heal();
		List<Instance> open = this.instances.stream().filter(Instance::isOpen).toList();
		// A wait would hide a permission that is missing.
		open.stream().filter(Instance::hasNoCircuit).forEach(this::awaitQuiet);
		this.keys.forEach((key) -> open.forEach((instance) -> instance.deliverLast(key)));
		for (Instance instance : open) {
			awaitQuiet(instance);
			instance.close();
		}
		if (!open.isEmpty()) {
			this.history.checkEnd(this.store);
		}
		this.history.checkNamed(this.store, RecordedLog.lines());
		this.ended = true;
	}

	private void awaitQuiet(Instance instance) {
		List<String> remaining = instance.remaining();
		for (int seconds = 0; seconds < QUIET.toSeconds() && !remaining.isEmpty(); seconds++) {
			sleep(Duration.ofSeconds(1));
			remaining = instance.remaining();
		}
		if (!remaining.isEmpty()) {
			violation("The engine of " + instance.name() + " keeps claims at the end: " + remaining);
		}
	}

}
