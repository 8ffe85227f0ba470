/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.HashSet;
import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a consumer process that is killed while it handles single records.
 */
@Order(2)
class CrashTests extends AbstractCrashTests {

	CrashTests() {
		super(CrashShape.RECORD);
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-7")
	void afterKillWithinATransactionalHandlerItsEffectHappensOnce() {
		assertThat(effects("transactional-running")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	void afterKillBetweenHandlerAndCommitTheEffectHappensOnce() {
		assertThat(effects("transactional-before-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-3")
	void afterKillBetweenCommitAndOffsetTheEffectHappensOnce() {
		assertThat(effects("transactional-after-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-7")
	void afterKillBeforeTheCommitOfAnOffsetTheEffectHappensOnce() {
		assertThat(effects("offset-before-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-5")
	void afterKillAfterTheCommitOfAnOffsetTheEffectHappensOnce() {
		assertThat(effects("offset-after-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-7")
	void afterKillBeforeTheEffectOfALeasedHandlerTheRecordIsTakenOver() {
		assertThat(effects("leased-running")).containsExactly("first", "second", "third");
		assertThat(fences("leased-running")).containsExactly(2, 1, 1);
	}

	// The window of leased mode. The fence distinguishes
	// the second execution from the first.
	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillBetweenEffectAndCompletionALeasedHandlerRunsAgainWithTheNextFence() {
		assertThat(effects("leased-after-effect")).containsExactly("first", "first", "second", "third");
		assertThat(fences("leased-after-effect")).containsExactly(1, 2, 1, 1);
	}

	@Test
	@Tag("promise-3")
	void afterKillBetweenCompletionAndOffsetALeasedHandlerDoesNotRunAgain() {
		assertThat(effects("leased-after-completion")).containsExactly("first", "second", "third");
	}

	// The broker has the first message, but the outbox has not recorded that.
	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void afterKillWhileTheOutboxPublishesAnotherRelayPublishesAllMessagesInOrder() {
		await().untilAsserted(() -> assertThat(run().unpublishedMessages()).isZero());
		assertThat(effects(CrashingApp.OUTBOX)).containsExactly("first", "second", "third");
		List<ConsumerRecord<String, String>> published = Kafka
			.read(RecordCrashListeners.output(run().topic(CrashingApp.OUTBOX)));
		RecordCrashListeners.MESSAGE_KEYS
			.forEach((key) -> assertThat(published).filteredOn((record) -> record.key().equals(key))
				.extracting(ConsumerRecord::value)
				.filteredOn(new HashSet<>()::add)
				.containsExactly("first", "second", "third"));
		assertThat(published).as("with the message that is repeated").hasSizeGreaterThan(6);
	}

}
