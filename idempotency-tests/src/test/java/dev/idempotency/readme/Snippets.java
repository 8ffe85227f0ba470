/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.readme;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.springframework.context.annotation.Bean;
import org.springframework.core.retry.RetryException;
import org.springframework.core.retry.RetryTemplate;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.producer.IdempotencyKeys;

/**
 * Code of the pages in {@code docs} that no test runs, so that it is at least compiled.
 */
abstract class Snippets {

	// docs/dynamodb.md
	static class DynamoDb {

		@Bean
		DynamoDbClient dynamoDbClient() {
			return DynamoDbClient.create();
		}

	}

	// docs/producers.md
	static class Producer {

		void send(Payment payment, KafkaTemplate<String, Payment> kafka, RetryTemplate retry) throws RetryException {
			ProducerRecord<String, Payment> record = IdempotencyKeys.stamp(new ProducerRecord<>("payments", payment));
			retry.execute(() -> kafka
				.send(new ProducerRecord<>(record.topic(), record.partition(), record.timestamp(), record.key(),
						record.value(), record.headers()))
				.get());
		}

	}

	// docs/outbox.md
	abstract static class Publishing {

		private JdbcTemplate jdbc;

		private Outbox outbox;

		@KafkaListener(topics = "payments", groupId = "ledger")
		@Idempotent
		void charge(PaymentCommand command) {
			this.jdbc.update("UPDATE account SET balance = balance - ? WHERE id = ?", command.amount(),
					command.account());
			this.outbox.send(OutboxMessage.to("payment-charged")
				.key(command.account())
				.payload(new PaymentCharged(command.paymentId(), command.amount()))
				.aggregate("payment", command.paymentId())
				.type("payment-charged")
				.build());
		}

	}

	// docs/several-stores.md
	abstract static class SeveralStores {

		private JdbcTemplate jdbc;

		private Gateway gateway;

		@KafkaListener(topics = "payments", groupId = "ledger")
		@Idempotent
		void charge(PaymentCommand command) {
			this.jdbc.update("UPDATE account SET balance = balance - ? WHERE id = ?", command.amount(),
					command.account());
		}

		@KafkaListener(topics = "payments", groupId = "gateway")
		@Idempotent(store = "gateway")
		void callGateway(PaymentCommand command) {
			this.gateway.charge(command, IdempotentExecution.current().key());
		}

	}

	interface Gateway {

		void charge(PaymentCommand command, String key);

	}

	record PaymentCommand(String paymentId, String account, int amount) {

	}

	record PaymentCharged(String paymentId, int amount) {

	}

}
