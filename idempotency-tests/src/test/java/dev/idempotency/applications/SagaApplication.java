/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.Idempotent;

/**
 * A saga: the orders reserve at two participants, confirm at both, or cancel at the first
 * when the second has no means. One topic carries all commands to a participant.
 */
@Import({ SagaApplication.Stock.class, SagaApplication.Payment.class, SagaApplication.Orders.class })
class SagaApplication {

	enum Step {

		RESERVE, CONFIRM, CANCEL

	}

	record Command(String orderId, Step step, int amount) {
	}

	record Reply(String orderId, String participant, Step step, boolean accepted, int amount) {
	}

	static class Stock {

		private final Effects effects;

		Stock(Effects effects) {
			this.effects = effects;
		}

		@SendTo("${prefix}-saga-replies")
		@Idempotent(key = "#payload.orderId + '/' + #payload.step")
		@KafkaListener(topics = "${prefix}-saga-stock", groupId = "${prefix}-saga-stock")
		Reply handle(Command command) {
			this.effects.add(command.orderId(), "stock " + command.step());
			return new Reply(command.orderId(), "stock", command.step(), true, command.amount());
		}

	}

	static class Payment {

		private final Effects effects;

		Payment(Effects effects) {
			this.effects = effects;
		}

		@SendTo("${prefix}-saga-replies")
		@Idempotent(key = "#payload.orderId + '/' + #payload.step")
		@KafkaListener(topics = "${prefix}-saga-payment", groupId = "${prefix}-saga-payment")
		Reply handle(Command command) {
			boolean accepted = command.amount() <= 100;
			this.effects.add(command.orderId(), accepted ? "payment " + command.step() : "payment refuses");
			return new Reply(command.orderId(), "payment", command.step(), accepted, command.amount());
		}

	}

	static class Orders {

		private final Effects effects;

		private final KafkaTemplate<Object, Object> template;

		private final String prefix;

		Orders(Effects effects, KafkaTemplate<Object, Object> template, @Value("${prefix}") String prefix) {
			this.effects = effects;
			this.template = template;
			this.prefix = prefix;
		}

		@Idempotent(key = "#payload.orderId + '/' + #payload.participant + '/' + #payload.step")
		@KafkaListener(topics = "${prefix}-saga-replies", groupId = "${prefix}-saga-replies")
		void handle(Reply reply) {
			if (reply.step() != Step.RESERVE) {
				return;
			}
			if (reply.participant().equals("stock")) {
				send("payment", reply, Step.RESERVE);
			}
			else if (reply.accepted()) {
				this.effects.add(reply.orderId(), "order CONFIRM");
				send("stock", reply, Step.CONFIRM);
				send("payment", reply, Step.CONFIRM);
			}
			else {
				this.effects.add(reply.orderId(), "order CANCEL");
				send("stock", reply, Step.CANCEL);
			}
		}

		private void send(String participant, Reply reply, Step step) {
			this.template.send(this.prefix + "-saga-" + participant,
					new Command(reply.orderId(), step, reply.amount()));
		}

	}

}
