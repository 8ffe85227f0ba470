/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

import dev.idempotency.Threads;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link PeriodicTask}.
 */
class PeriodicTaskTests {

	private static final Duration OFTEN = Duration.ofMillis(20);

	private static final Duration RARELY = Duration.ofSeconds(1);

	private final AtomicInteger runs = new AtomicInteger();

	private final Set<Thread> threads = ConcurrentHashMap.newKeySet();

	private final PeriodicTask task = new PeriodicTask(this::run, Threads.named("periodic-test"));

	@AfterEach
	void close() {
		this.task.close();
	}

	private void run() {
		this.threads.add(Thread.currentThread());
		if (this.runs.incrementAndGet() == 1) {
			throw new IllegalStateException("first run");
		}
	}

	// At the longest interval there are at most three runs in that time.
	private void assertRunsOften() {
		await().atMost(RARELY.multipliedBy(3).plusMillis(500)).until(() -> this.runs.get() >= 5);
	}

	@Test
	void taskRunsAgainAfterAnException() {
		this.task.runEvery(OFTEN);
		assertRunsOften();
		assertThat(this.threads).hasSize(1);
	}

	@Test
	void longIntervalIsShortened() {
		this.task.runEvery(Duration.ofHours(1));
		await().until(() -> this.runs.get() > 0);
	}

	@Test
	void intervalOfZeroIsLengthened() {
		this.task.runEvery(Duration.ZERO);
		assertRunsOften();
	}

	@Test
	void shorterIntervalReplacesALongerOne() {
		this.task.runEvery(RARELY);
		this.task.runEvery(OFTEN);
		assertRunsOften();
	}

	@Test
	void longerIntervalDoesNotReplaceAShorterOne() {
		this.task.runEvery(OFTEN);
		this.task.runEvery(RARELY);
		assertRunsOften();
	}

	@Test
	void taskRunsOnDemandBetweenItsIntervals() {
		this.task.runEvery(RARELY);
		for (int i = 0; i < 5; i++) {
			this.task.runNow();
		}
		assertRunsOften();
		assertThat(this.threads).hasSize(1).doesNotContain(Thread.currentThread());
	}

	@Test
	void closedTaskEndsItsThreadAndIgnoresRequests() {
		this.task.runEvery(OFTEN);
		await().until(() -> this.runs.get() > 0);
		this.task.close();
		this.task.runEvery(Duration.ofMillis(5));
		this.task.runNow();
		await().until(() -> this.threads.stream().noneMatch(Thread::isAlive));
	}

}
