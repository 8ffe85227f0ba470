/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.stream.IntStream;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a topic with too few in-sync replicas, while other topics are available.
 */
@Order(3)
class TroubledTopicTests {

	private static final int MESSAGES = 400;

	// Enough for many rounds whose oldest messages are those of the unavailable topic.
	private static final int TROUBLED = 2000;

	private static final int PATIENCE = 60;

	private final String healthy = Servers.newTopic("healthy", 1);

	private final String troubled = Servers.newTopic("troubled", 1);

	private void send(OutboxApp app, String topic, int messages) {
		app.inTransaction(() -> app.outbox()
			.send(IntStream.range(0, messages)
				.mapToObj((i) -> OutboxMessage.to(topic).key("k" + i).payload("x").build())
				.toList()));
	}

	@Test
	void unavailableTopicDelaysNoOtherAndItsMessagesAreRetried() {
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.batch-size", 50)
			.with("idempotency.outbox.max-back-off", "2s")
			.with("idempotency.outbox.max-attempts", 1), UnreliablePublisher.class);
				Logs logs = Logs.about(this.troubled)) {
			UnreliablePublisher publisher = app.context().getBean(UnreliablePublisher.class);
			publisher.fail(this.troubled::equals);
			send(app, this.troubled, TROUBLED);
			send(app, this.healthy, MESSAGES);
			Awaitility.await()
				.atMost(Duration.ofSeconds(PATIENCE))
				.untilAsserted(() -> assertThat(Kafka.read(this.healthy).size()).isEqualTo(MESSAGES));
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().pending()).isEqualTo(TROUBLED));
			assertThat(app.store().status().deadLetters()).as("dead letters").isZero();
			Awaitility.await()
				.atMost(Duration.ofSeconds(PATIENCE))
				.untilAsserted(() -> assertThat(logs.messages("WARN")).singleElement(InstanceOfAssertFactories.STRING)
					.contains("cannot publish to the topic"));
			publisher.fail((topic) -> false);
			Awaitility.await()
				.atMost(Duration.ofSeconds(PATIENCE))
				.untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
			assertThat(Kafka.read(this.troubled)).hasSize(TROUBLED);
			Awaitility.await()
				.untilAsserted(() -> assertThat(logs.messages("INFO")).singleElement(InstanceOfAssertFactories.STRING)
					.endsWith("again"));
		}
	}

	@Test
	void unavailableTopicIsDistinguishedFromAnUnavailableBroker() {
		String table = Servers.unique("outbox").replace('-', '_');
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.table", table)
			.with("idempotency.outbox.max-back-off", "1s"), UnreliablePublisher.class);
				Logs logs = Logs.about("'" + table + "'")) {
			app.context().getBean(UnreliablePublisher.class).fail(this.troubled::equals);
			send(app, this.troubled, 1);
			Awaitility.await()
				.untilAsserted(() -> assertThat(logs.messages("WARN")).singleElement(InstanceOfAssertFactories.STRING)
					.contains("no answer from the broker"));
			send(app, this.healthy, 1);
			Awaitility.await()
				.atMost(Duration.ofSeconds(PATIENCE))
				.untilAsserted(() -> assertThat(logs.messages("WARN")).last(InstanceOfAssertFactories.STRING)
					.contains("'" + this.troubled + "'"));
			Awaitility.await().during(Duration.ofSeconds(3)).until(() -> logs.messages("WARN").size() == 2);
			assertThat(logs.messages("INFO")).filteredOn((line) -> line.endsWith("works again")).hasSize(1);
		}
	}

	@Test
	void refusedTopicDelaysNoOther() {
		try (OutboxApp app = OutboxApp.start((settings) -> settings.with("idempotency.outbox.batch-size", 50))) {
			send(app, this.troubled + "/invalid", TROUBLED);
			send(app, this.healthy, MESSAGES);
			Awaitility.await()
				.atMost(Duration.ofSeconds(PATIENCE))
				.untilAsserted(() -> assertThat(Kafka.read(this.healthy).size()).isEqualTo(MESSAGES));
			assertThat(app.events()).filteredOn((event) -> !event.startsWith("PUBLISHED"))
				.hasSizeLessThan(TROUBLED / 20);
		}
	}

}
