/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a consumer process that is killed while another thread handles the first of
 * three records and the other two are completed.
 */
@Order(2)
class AsyncCrashTests extends AbstractCrashTests {

	AsyncCrashTests() {
		super(CrashShape.ASYNC);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	@Tag("promise-7")
	void afterKillBeforeTheEffectOnlyTheUncompletedRecordRunsAgain() {
		assertThat(effects("leased-running")).containsExactlyInAnyOrder("first", "second", "third").endsWith("first");
		assertThat(fences("leased-running")).containsExactly(1, 1, 2);
	}

	// The window of leased mode. The fence distinguishes
	// the second execution from the first.
	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillBetweenEffectAndCompletionTheHandlerRunsAgainWithTheNextFence() {
		assertThat(effects("leased-after-effect")).containsExactlyInAnyOrder("first", "second", "third", "first")
			.endsWith("first");
		assertThat(fences("leased-after-effect")).containsExactly(1, 1, 1, 2);
	}

	@Test
	@Tag("promise-3")
	void afterKillBetweenCompletionAndOffsetTheHandlerDoesNotRunAgain() {
		assertThat(effects("leased-after-completion")).containsExactlyInAnyOrder("first", "second", "third");
		assertThat(fences("leased-after-completion")).containsExactly(1, 1, 1);
	}

}
