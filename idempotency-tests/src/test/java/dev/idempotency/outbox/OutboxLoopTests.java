/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link OutboxLoop}.
 */
class OutboxLoopTests {

	private final AtomicInteger running = new AtomicInteger();

	private final AtomicInteger most = new AtomicInteger();

	private final CountDownLatch begun = new CountDownLatch(1);

	private final CountDownLatch end = new CountDownLatch(1);

	private final CountDownLatch steps = new CountDownLatch(2);

	@Test
	void loopThatIsRestartedWaitsForAStepThatDidNotEndInTime() throws InterruptedException {
		OutboxLoop loop = new OutboxLoop("loop", Duration.ofMillis(1)) {

			@Override
			protected Duration step() {
				OutboxLoopTests.this.step();
				return Duration.ofDays(1);
			}

		};
		loop.start();
		assertThat(this.begun.await(20, TimeUnit.SECONDS)).isTrue();
		loop.stop();
		loop.start();
		assertThat(this.steps.await(200, TimeUnit.MILLISECONDS)).isFalse();
		this.end.countDown();
		assertThat(this.steps.await(20, TimeUnit.SECONDS)).isTrue();
		loop.stop();
		assertThat(this.most).hasValue(1);
	}

	// Like a driver, it is not interruptible.
	private void step() {
		this.most.accumulateAndGet(this.running.incrementAndGet(), Math::max);
		this.begun.countDown();
		this.steps.countDown();
		boolean ended = false;
		while (!ended) {
			try {
				ended = this.end.await(20, TimeUnit.SECONDS);
			}
			catch (InterruptedException ex) {
				ended = false;
			}
		}
		this.running.decrementAndGet();
	}

}
