/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Kafka;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a consumer process that is killed while it handles single records in Kafka
 * transactions. An effect is a fence number and a value in another topic.
 */
@Order(2)
class KafkaTransactionCrashTests extends AbstractCrashTests {

	KafkaTransactionCrashTests() {
		super(CrashShape.KAFKA_TRANSACTION);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-7")
	void afterKillBeforeTheEffectTheRecordIsTakenOver() {
		assertThat(output("leased-running")).containsExactly("2 first", "1 second", "1 third");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillBetweenEffectAndEndOfTheHandlerOnlyTheSecondExecutionIsCommitted() {
		assertThat(output("leased-after-effect")).containsExactly("2 first", "1 second", "1 third");
		assertThat(values(Kafka.read(outputTopic("leased-after-effect")))).startsWith("1 first");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillBetweenHandlerAndCommitOnlyTheSecondExecutionIsCommitted() {
		assertThat(output("leased-before-commit")).containsExactly("2 first", "1 second", "1 third");
		assertThat(values(Kafka.read(outputTopic("leased-before-commit")))).startsWith("1 first");
	}

	// The window of leased mode. The offset is committed together with the effect, so
	// the record is not redelivered, but a copy of it runs.
	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillBetweenCommitAndCompletionOnlyACopyRunsAgain() {
		assertThat(output("leased-after-commit")).containsExactly("1 first", "1 second", "1 third");
		run().sendAgain("leased-after-commit", "first");
		assertThat(output("leased-after-commit")).containsExactly("1 first", "1 second", "1 third", "2 first");
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	void afterKillAfterTheCompletionNoCopyRuns() {
		run().sendAgain("leased-after-completion", "first");
		assertThat(output("leased-after-completion")).containsExactly("1 first", "1 second", "1 third");
	}

	private List<String> output(String point) {
		return values(Kafka.readCommitted(outputTopic(point)));
	}

	private String outputTopic(String point) {
		return KafkaTransactionCrashListeners.output(run().topic(point));
	}

	private static List<String> values(List<ConsumerRecord<String, String>> records) {
		return records.stream().map(ConsumerRecord::value).toList();
	}

}
