/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.ResourceLock;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * For tests for a consumer process that is killed, with Boot's default error handler: a
 * first process stops dead at all points of a shape, is killed, and a second application
 * takes over.
 */
@ResourceLock("processes")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class AbstractCrashTests {

	private final CrashShape shape;

	private CrashRun run;

	AbstractCrashTests(CrashShape shape) {
		this.shape = shape;
	}

	@BeforeAll
	void killTheFirstProcessAndStartTheSecond() {
		this.run = CrashRun.of(this.shape);
	}

	@AfterAll
	void stop() {
		this.run.close();
	}

	// The session timeout of the dead consumer, the lease, and one round of waiting. The
	// rest is for a slow machine.
	@Test
	@Tag("promise-7")
	void aCrashedOwnerIsReplacedAtMostOneLeaseLater() {
		assertThat(this.run.takeover()).isLessThan(CrashRun.LEASE.plusSeconds(40));
	}

	CrashRun run() {
		return this.run;
	}

	List<String> effects(String point) {
		return this.run.effects().values(point);
	}

	List<Integer> fences(String point) {
		return this.run.effects().fences(point);
	}

}
