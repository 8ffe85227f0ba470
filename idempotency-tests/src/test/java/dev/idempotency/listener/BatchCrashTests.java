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
 * Tests for a consumer process that is killed while it handles a batch of three records.
 */
@Order(2)
class BatchCrashTests extends AbstractCrashTests {

	BatchCrashTests() {
		super(CrashShape.BATCH);
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-7")
	void afterKillWithinATransactionalBatchAllEffectsHappenOnce() {
		assertThat(effects("transactional-running")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	void afterKillBetweenHandlerAndCommitTheEffectsHappenOnce() {
		assertThat(effects("transactional-before-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-3")
	void afterKillBetweenCommitAndOffsetTheEffectsHappenOnce() {
		assertThat(effects("transactional-after-commit")).containsExactly("first", "second", "third");
		assertThat(fences("transactional-after-commit")).containsExactly(1, 1, 1);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-7")
	void afterKillBeforeTheEffectsALeasedBatchIsTakenOver() {
		assertThat(effects("leased-before-effect")).containsExactly("first", "second", "third");
		assertThat(fences("leased-before-effect")).containsExactly(2, 2, 2);
	}

	// The window of leased mode: all records of the batch run again.
	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillWithinALeasedBatchItRunsAgainWithTheNextFences() {
		assertThat(effects("leased-running")).containsExactly("first", "first", "second", "third");
		assertThat(fences("leased-running")).containsExactly(1, 2, 2, 2);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillBetweenEffectsAndCompletionALeasedBatchRunsAgainWithTheNextFences() {
		assertThat(effects("leased-after-effect")).containsExactly("first", "second", "third", "first", "second",
				"third");
		assertThat(fences("leased-after-effect")).containsExactly(1, 1, 1, 2, 2, 2);
	}

	@Test
	@Tag("promise-3")
	void afterKillBetweenCompletionAndOffsetALeasedBatchDoesNotRunAgain() {
		assertThat(effects("leased-after-completion")).containsExactly("first", "second", "third");
		assertThat(fences("leased-after-completion")).containsExactly(1, 1, 1);
	}

}
