/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import org.springframework.context.annotation.Import;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.applications.TutorialApplication.OrderPlaced;

/**
 * Listeners that catch an exception of their {@code @Transactional} service, as tutorials
 * do, and what to write instead with the library. {@link TutorialApplication} has the
 * table.
 */
@Import({ CatchingApplication.Provider.class, CatchingApplication.TableListener.class,
		CatchingApplication.Payments.class, CatchingApplication.LeasedListener.class,
		CatchingApplication.CardListener.class, CatchingApplication.Cards.class,
		CatchingApplication.NestedListener.class, CatchingApplication.NestedPayments.class,
		CatchingApplication.InsideListener.class, CatchingApplication.CarefulCards.class })
class CatchingApplication {

	static class Provider {

		void authorize(OrderPlaced order) {
			if (order.amount() > 100) {
				throw new CardRefusedException();
			}
		}

	}

	static class CardRefusedException extends RuntimeException {

	}

	// docs/migrating.md
	static class TableListener {

		private final Payments payments;

		TableListener(Payments payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-table", groupId = "${prefix}-table")
		@Idempotent(key = "#payload.orderId")
		void handle(OrderPlaced order, @Header("message-id") String messageId) {
			try {
				this.payments.pay(messageId, order);
			}
			catch (DataIntegrityViolationException ex) {
				// The message has been processed.
			}
		}

	}

	// docs/migrating.md
	static class Payments {

		private final JdbcTemplate jdbc;

		private final Effects effects;

		Payments(JdbcTemplate jdbc, Effects effects) {
			this.jdbc = jdbc;
			this.effects = effects;
		}

		@Transactional
		void pay(String messageId, OrderPlaced order) {
			this.jdbc.update("INSERT INTO processed_message VALUES (?)", messageId);
			this.effects.add(order.orderId(), "paid");
		}

	}

	static class LeasedListener {

		private final Payments payments;

		LeasedListener(Payments payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}-leased")
		@Idempotent(key = "#payload.orderId", mode = Mode.LEASED)
		void handle(OrderPlaced order, @Header("message-id") String messageId) {
			try {
				this.payments.pay(messageId, order);
			}
			catch (DataIntegrityViolationException ex) {
				// The message has been processed.
			}
		}

	}

	static class NestedListener {

		private final NestedPayments payments;

		NestedListener(NestedPayments payments) {
			this.payments = payments;
		}

		@KafkaListener(topics = "${prefix}-nested", groupId = "${prefix}-nested")
		@Idempotent(key = "#payload.orderId")
		void handle(OrderPlaced order, @Header("message-id") String messageId) {
			try {
				this.payments.pay(messageId, order);
			}
			catch (DataIntegrityViolationException ex) {
				// The message has been processed.
			}
		}

	}

	// docs/migrating.md
	static class NestedPayments {

		private final JdbcTemplate jdbc;

		private final Effects effects;

		NestedPayments(JdbcTemplate jdbc, Effects effects) {
			this.jdbc = jdbc;
			this.effects = effects;
		}

		@Transactional(propagation = Propagation.NESTED)
		void pay(String messageId, OrderPlaced order) {
			this.jdbc.update("INSERT INTO processed_message VALUES (?)", messageId);
			this.effects.add(order.orderId(), "paid");
		}

	}

	static class CardListener {

		private final Cards cards;

		private final Effects effects;

		CardListener(Cards cards, Effects effects) {
			this.cards = cards;
			this.effects = effects;
		}

		@KafkaListener(topics = "${prefix}-card", groupId = "${prefix}-card")
		@Idempotent(key = "#payload.orderId")
		void handle(OrderPlaced order) {
			try {
				this.cards.charge(order);
			}
			catch (CardRefusedException ex) {
				this.effects.add(order.orderId(), "refused");
			}
		}

	}

	static class Cards {

		private final Provider provider;

		private final Effects effects;

		Cards(Provider provider, Effects effects) {
			this.provider = provider;
			this.effects = effects;
		}

		@Transactional
		void charge(OrderPlaced order) {
			this.provider.authorize(order);
			this.effects.add(order.orderId(), "charged");
		}

	}

	static class InsideListener {

		private final CarefulCards cards;

		InsideListener(CarefulCards cards) {
			this.cards = cards;
		}

		@KafkaListener(topics = "${prefix}-inside", groupId = "${prefix}-inside")
		@Idempotent(key = "#payload.orderId")
		void handle(OrderPlaced order) {
			this.cards.charge(order);
		}

	}

	// docs/migrating.md
	static class CarefulCards {

		private final Provider provider;

		private final Effects effects;

		CarefulCards(Provider provider, Effects effects) {
			this.provider = provider;
			this.effects = effects;
		}

		@Transactional
		void charge(OrderPlaced order) {
			try {
				this.provider.authorize(order);
				this.effects.add(order.orderId(), "charged");
			}
			catch (CardRefusedException ex) {
				this.effects.add(order.orderId(), "refused");
			}
		}

	}

}
