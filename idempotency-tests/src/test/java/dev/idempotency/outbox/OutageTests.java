/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;

import org.assertj.core.api.InstanceOfAssertFactories;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a relay whose broker does not answer, or whose thread is interrupted.
 */
class OutageTests {

	private static final Duration DEAD = Duration.ofSeconds(8);

	private final String topic = Servers.newTopic("dead", 1);

	private final String table = Servers.unique("outbox").replace('-', '_');

	private final String database = Servers.newDatabase();

	private OutboxApp start() {
		OutboxApp app = OutboxApp.start((settings) -> settings.database(this.database)
			.with("idempotency.outbox.table", this.table)
			.with("idempotency.outbox.max-back-off", "250ms"), UnreliablePublisher.class);
		app.context().getBean(UnreliablePublisher.class).fail((any) -> true);
		return app;
	}

	@Test
	void outageIsLoggedOnceAtItsBeginningAndOnceAtItsEnd() {
		try (Logs logs = Logs.about("'" + this.table + "'"); OutboxApp first = start(); OutboxApp second = start()) {
			first.send(this.topic, "key", "only one lane, so that one of them finds nothing");
			Awaitility.await()
				.during(DEAD)
				.atMost(DEAD.multipliedBy(3))
				.until(() -> logs.messages("INFO").stream().noneMatch((line) -> line.contains("again")));
			assertThat(logs.messages("WARN")).hasSizeBetween(1, 2)
				.allSatisfy((line) -> assertThat(line).contains("gets no answer from the broker"));
			first.context().getBean(UnreliablePublisher.class).fail((any) -> false);
			second.close();
			Awaitility.await().untilAsserted(() -> assertThat(first.store().status().pending()).isZero());
			Awaitility.await()
				.untilAsserted(
						() -> assertThat(logs.messages("INFO")).filteredOn((line) -> line.endsWith("works again"))
							.singleElement(InstanceOfAssertFactories.STRING)
							.contains(this.table));
		}
	}

	@Test
	void messageIsPublishedAFewTimesAtMostAfterAnInterrupt() {
		try (OutboxApp app = start()) {
			UnreliablePublisher publisher = app.context().getBean(UnreliablePublisher.class);
			publisher.fail((any) -> false);
			publisher.interruptOnce();
			app.send(this.topic, "key", "value");
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
			assertThat(publisher.sends()).isLessThan(5);
		}
	}

}
