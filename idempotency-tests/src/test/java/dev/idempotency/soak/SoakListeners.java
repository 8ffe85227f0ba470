/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.soak;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.outbox.Outbox;

/**
 * One listener of each kind. Each effect is a row with the name of its listener. Records
 * are "number account version". Two of a hundred fail at their first attempt.
 */
class SoakListeners {

	static final List<String> ALL = List.of("ledger", "statements", "gateway", "calls");

	private static final int FAILING = 50;

	private final Executor executor = Executors.newFixedThreadPool(2);

	private final JdbcTemplate jdbc;

	private final Outbox outbox;

	private final String topic;

	SoakListeners(JdbcTemplate jdbc, Outbox outbox, @Value("${topic}") String topic) {
		this.jdbc = jdbc;
		this.outbox = outbox;
		this.topic = topic;
	}

	static String charged(String topic) {
		return topic + "-charged";
	}

	@KafkaListener(topics = "${topic}", groupId = "${topic}-ledger")
	@Idempotent(mode = Mode.TRANSACTIONAL)
	void charge(ConsumerRecord<String, String> payment) {
		failSometimes(IdempotentExecution.current());
		effect("ledger", payment.value());
		this.outbox.send(charged(this.topic), account(payment.value()), payment.value());
	}

	@KafkaListener(topics = "${topic}-charged", groupId = "${topic}-statements", batch = "true")
	@Idempotent(mode = Mode.TRANSACTIONAL)
	void print(List<ConsumerRecord<String, String>> charges) {
		charges.forEach((charge) -> effect("statements", charge.value()));
	}

	@KafkaListener(topics = "${topic}", groupId = "${topic}-gateway")
	@Idempotent(mode = Mode.LEASED, store = "gateway")
	CompletableFuture<String> callGateway(String payment) {
		IdempotentExecution execution = IdempotentExecution.current();
		return CompletableFuture.supplyAsync(() -> {
			failSometimes(execution);
			effect("gateway", payment);
			return "called " + payment;
		}, this.executor);
	}

	@KafkaListener(topics = "${topic}", groupId = "${topic}-calls")
	@Idempotent(mode = Mode.LEASED)
	String call(String payment) {
		failSometimes(IdempotentExecution.current());
		effect("calls", payment);
		return "called " + payment;
	}

	@KafkaListener(topics = "${topic}", groupId = "${topic}-balances")
	@Idempotent(mode = Mode.TRANSACTIONAL, key = "#payload.split(' ')[1]", version = "#payload.split(' ')[2]")
	void apply(String payment) {
		String[] parts = payment.split(" ");
		this.jdbc.update(
				"INSERT INTO balance VALUES (?, ?) ON CONFLICT (account) DO UPDATE SET version = excluded.version",
				parts[1], Long.parseLong(parts[2]));
	}

	private void effect(String listener, String payment) {
		this.jdbc.update("INSERT INTO effect VALUES (?, ?)", listener,
				Long.parseLong(payment.substring(0, payment.indexOf(' '))));
	}

	private static String account(String payment) {
		return payment.split(" ")[1];
	}

	private static void failSometimes(IdempotentExecution execution) {
		if (execution.attempt() == 1 && Math.floorMod(execution.key().hashCode(), FAILING) == 0) {
			throw new IllegalStateException("The first attempt of " + execution.key() + " fails");
		}
	}

}
