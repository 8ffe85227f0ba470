/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;

/**
 * The idempotent consumer of tutorials, with a hand-made table of the ids of processed
 * messages and a hand-made outbox. A message that its producer sends again has a new id.
 */
@Import({ TutorialApplication.Listener.class, TutorialApplication.Payments.class })
class TutorialApplication {

	record OrderPlaced(String orderId, int amount) {
	}

	static class Listener {

		private final Payments payments;

		Listener(Payments payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-tutorial", groupId = "${prefix}-tutorial")
		@Idempotent(key = "#payload.orderId")
		void handle(OrderPlaced order, @Header("message-id") String messageId) {
			this.payments.pay(messageId, order);
		}

	}

	// docs/migrating.md
	static class Payments {

		private final Effects effects;

		private final JdbcTemplate jdbc;

		Payments(Effects effects, JdbcTemplate jdbc) {
			this.effects = effects;
			this.jdbc = jdbc;
			jdbc.execute("CREATE TABLE processed_message (id text PRIMARY KEY)");
			jdbc.execute("CREATE TABLE outbox (number serial, aggregate_id text, payload text)");
		}

		@Transactional
		void pay(String messageId, OrderPlaced order) {
			if (this.jdbc.update("INSERT INTO processed_message VALUES (?) ON CONFLICT DO NOTHING", messageId) == 0) {
				return;
			}
			this.effects.add(order.orderId(), "paid");
			this.jdbc.update("INSERT INTO outbox (aggregate_id, payload) VALUES (?, ?)", order.orderId(), "paid");
		}

	}

}
