/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.NewTopic;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RecordedProducers;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for messages that fail because another message of their producer batch is
 * refused.
 */
class BatchNeighbourTests {

	private static final int NEIGHBOURS = 200;

	// One partition of a compacted topic, which refuses messages without a key.
	private static String compactedTopic() {
		String topic = Servers.unique("compacted-");
		Servers.addTopics(new NewTopic(topic, 1, (short) 1).configs(Map.of("cleanup.policy", "compact")));
		return topic;
	}

	private static OutboxMessage message(String topic, int number) {
		boolean valid = number != NEIGHBOURS / 2;
		return OutboxMessage.to(topic)
			.key(valid ? "k" + number : null)
			.payload("x")
			.idempotencyKey(valid ? "valid" : "invalid")
			.build();
	}

	@Test
	void neighboursOfARefusedMessageAreSentAgainByTheSameProducer() {
		String topic = compactedTopic();
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.max-attempts", 2),
				RecordedProducers.class)) {
			app.inTransaction(() -> app.outbox()
				.send(IntStream.rangeClosed(0, NEIGHBOURS).mapToObj((number) -> message(topic, number)).toList()));
			// The invalid message is attempted twice.
			Awaitility.await().until(() -> app.events().size() >= NEIGHBOURS + 2);
			assertThat(Set.copyOf(app.events())).containsExactlyInAnyOrder("REFUSED invalid", "PUBLISHED valid",
					"DEAD_LETTER invalid");
			assertThat(Kafka.read(topic)).hasSize(NEIGHBOURS);
			assertThat(app.context().getBean(RecordedProducers.class).opened()).hasSize(1);
		}
	}

}
