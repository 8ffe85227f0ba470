/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.micrometer.Alert;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.StoppableKafka;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for an outbox whose broker is down. The records of its handlers come from another
 * broker. In each build, {@link PipelineTests} does this with short outages.
 */
@Tag("storm")
@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
@Order(3)
class OutboxOutageTests {

	// An alert must fire for an outage of this length.
	private static final Duration LONG = Duration.ofMinutes(1);

	private static final Duration OUTAGE = Duration.parse(System.getProperty("test.outage", "PT4S"));

	private final String input = Servers.newTopic("input", 1);

	private final Alert stuck = Alert.of("IdempotencyOutboxStuck");

	@Test
	void handlersContinueDuringAnOutageAndTheOutboxDrainsAfterIt() {
		try (StoppableKafka kafka = StoppableKafka.create();
				OutboxApp app = OutboxApp.start(
						(settings) -> settings.with("input", this.input)
							.with("idempotency.outbox.send-timeout", "2s")
							.with("spring.kafka.producer.bootstrap-servers", kafka.bootstrapServers()),
						Handler.class)) {
			kafka.createTopic("output", 1);
			Kafka.send(this.input, "k0", "0");
			Awaitility.await().untilAsserted(() -> assertThat(app.events()).hasSize(1));
			Awaitility.await().untilAsserted(() -> assertThat(this.stuck.holds(app.context())).isFalse());
			kafka.stop();
			boolean alerted = false;
			long end = System.nanoTime() + OUTAGE.toNanos();
			int sent = 1;
			while (System.nanoTime() < end) {
				Kafka.send(this.input, "k" + sent, String.valueOf(sent));
				sent++;
				// All records have been handled, so their messages are in the outbox.
				long pending = sent - 1;
				Awaitility.await()
					.pollInterval(Duration.ofMillis(20))
					.untilAsserted(() -> assertThat(app.store().status().pending()).isEqualTo(pending));
				alerted |= this.stuck.fires(app.context());
			}
			assertThat(alerted || OUTAGE.compareTo(LONG) < 0).isTrue();
			assertThat(app.store().status().oldest()).isGreaterThan(OUTAGE.minusSeconds(2));
			assertThat(app.store().deadLetters(10)).isEmpty();
			kafka.start();
			Awaitility.await()
				.atMost(Duration.ofMinutes(1))
				.untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
			List<String> numbers = IntStream.range(0, sent).mapToObj(String::valueOf).toList();
			assertThat(Kafka.readFrom(kafka.bootstrapServers(), "output")).extracting(ConsumerRecord::value)
				.filteredOn(new HashSet<>()::add)
				.containsExactlyElementsOf(numbers);
		}
	}

	/**
	 * Sends each record to the outbox.
	 */
	static class Handler {

		private final Outbox outbox;

		Handler(Outbox outbox) {
			this.outbox = outbox;
		}

		@Idempotent
		@KafkaListener(topics = "${input}", groupId = "${input}")
		void handle(String value) {
			this.outbox.send("output", "key", value);
		}

	}

}
