/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.micrometer;

import java.time.Duration;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxObserver;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.testsupport.StoppableKafka;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the conditions under which the alert rules of the outbox fire.
 */
@Order(3)
class OutboxAlertTests {

	// The shortest outage for which an alert must fire.
	private static final Duration OUTAGE = Duration.ofMinutes(1);

	private static final Duration LOOK = Duration.ofSeconds(5);

	private static final Duration SCRAPE = Duration.ofSeconds(15);

	private final Alert stuck = Alert.of("IdempotencyOutboxStuck");

	private final Alert deadLetters = Alert.of("IdempotencyOutboxDeadLetters");

	private static double gauge(ConfigurableApplicationContext context, String name) {
		return context.getBean(PrometheusMeterRegistry.class).get(name).gauge().value();
	}

	private static void send(ConfigurableApplicationContext context, String topic) {
		new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
			.executeWithoutResult((status) -> context.getBean(Outbox.class).send(topic, "account-1", "text"));
	}

	// Does not wait for the next regular report.
	private static void report(ConfigurableApplicationContext context) {
		OutboxStore.Status status = context.getBean(OutboxStore.class).status();
		context.getBeanProvider(OutboxObserver.class).forEach((observer) -> observer.observed(status));
	}

	private boolean holds(Alert alert, ConfigurableApplicationContext context) {
		report(context);
		return alert.holds(context);
	}

	// The messages are as old as in the shortest outage for which the alert fires.
	private static void makeOlder(ConfigurableApplicationContext context, Duration age) {
		context.getBean(JdbcTemplate.class)
			.update("UPDATE idempotency_outbox SET created_at = created_at - ? * interval '1 second' "
					+ "WHERE published_at IS NULL", age.toSeconds());
	}

	@Test
	void alertFiresForAnOutageOfAMinute() {
		assertThat(Duration.ofSeconds((long) this.stuck.limit()).plus(this.stuck.patience()).plus(LOOK).plus(SCRAPE))
			.isLessThan(OUTAGE);
	}

	@Test
	void alertFiresWhileTheBrokerIsUnavailable() {
		try (StoppableKafka kafka = StoppableKafka.create();
				ConfigurableApplicationContext context = TestApp.of()
					.with("idempotency.outbox.enabled", true)
					.with("idempotency.outbox.send-timeout", "2s")
					.with("idempotency.outbox.max-back-off", "500ms")
					.with("spring.kafka.bootstrap-servers", kafka.bootstrapServers())
					.run()) {
			kafka.createTopic("payments", 1);
			send(context, "payments");
			OutboxStore store = context.getBean(OutboxStore.class);
			await().until(() -> store.status().pending() == 0);
			assertThat(holds(this.stuck, context)).isFalse();
			kafka.stop();
			send(context, "payments");
			assertThat(holds(this.stuck, context)).isFalse();
			// Two evaluations, between which the messages hardly age.
			makeOlder(context, OUTAGE.minus(this.stuck.patience()).minus(SCRAPE).minus(LOOK));
			assertThat(holds(this.stuck, context)).isTrue();
			double age = gauge(context, "idempotency.outbox.age");
			send(context, "payments");
			assertThat(holds(this.stuck, context)).isTrue();
			assertThat(gauge(context, "idempotency.outbox.pending")).isEqualTo(2);
			assertThat(gauge(context, "idempotency.outbox.age")).isGreaterThan(age);
			kafka.start();
			await().until(() -> store.status().pending() == 0);
			assertThat(holds(this.stuck, context)).isFalse();
			assertThat(holds(this.deadLetters, context)).isFalse();
		}
	}

	@Test
	void alertFiresWhenNoRelayRuns() {
		try (ConfigurableApplicationContext context = TestApp.of()
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.relay", "none")
			.run()) {
			send(context, "payments");
			makeOlder(context, OUTAGE);
			// Waits for a regular report.
			await().untilAsserted(() -> assertThat(this.stuck.holds(context)).isTrue());
		}
	}

	private boolean fires(ConfigurableApplicationContext context) {
		report(context);
		return this.deadLetters.fires(context);
	}

	@Test
	void alertFiresUntilADeadLetterIsDiscarded() {
		try (ConfigurableApplicationContext context = TestApp.of()
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.max-attempts", 1)
			.run()) {
			assertThat(fires(context)).isFalse();
			send(context, "not/valid");
			await().until(() -> fires(context));
			OutboxStore store = context.getBean(OutboxStore.class);
			store.deadLetters(10).forEach((message) -> store.discard(message.id()));
			assertThat(fires(context)).isFalse();
		}
	}

}
