/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the messages of duplicates and of handlers that run again.
 */
class OutboxReplayTests {

	private final String input = Servers.newTopic("input", 1);

	private final String output = Servers.newTopic("output", 1);

	private final String database = Servers.newDatabase();

	private OutboxApp start(String relay, Class<?> handler) {
		return OutboxApp.start((app) -> app.database(this.database)
			.with("input", this.input)
			.with("output", this.output)
			.with("idempotency.outbox.relay", relay), handler);
	}

	private void awaitConsumed() {
		Awaitility.await().untilAsserted(() -> assertThat(Kafka.lag(this.input, this.input)).isZero());
	}

	// The key without its topic and type.
	private static String key(ConsumerRecord<?, ?> record) {
		String key = new String(record.headers().lastHeader(OutboxRow.KEY_HEADER).value(), StandardCharsets.UTF_8);
		return key.substring(0, key.lastIndexOf('-'));
	}

	@Test
	@Tag("promise-3")
	void duplicateNeitherRemovesNorRepeatsPendingMessages() {
		try (OutboxApp app = start("none", Transactionally.class)) {
			Kafka.send(this.input, "payment", "7");
			awaitConsumed();
			Kafka.send(this.input, "payment", "7");
			awaitConsumed();
			assertThat(TestApp.target(app.context(), Handler.class).runs).hasValue(1);
			assertThat(app.store().status().pending()).isEqualTo(2);
		}
		try (OutboxApp app = start("embedded", Transactionally.class)) {
			Awaitility.await().untilAsserted(() -> assertThat(app.store().status().pending()).isZero());
			Kafka.send(this.input, "payment", "7");
			awaitConsumed();
			Kafka.send(this.input, "end", "8");
			Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.output)).hasSize(4));
			assertThat(Kafka.read(this.output)).extracting(ConsumerRecord::value).containsExactly("7", "7!", "8", "8!");
		}
	}

	@Test
	void messagesKeepTheirKeysWhenAHandlerRunsAgain() {
		try (OutboxApp app = start("embedded", Leased.class)) {
			// Fails after the commit of its transaction.
			TestApp.target(app.context(), Handler.class).failures.set(1);
			Kafka.send(this.input, "payment", "7");
			Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.output)).hasSize(4));
			List<ConsumerRecord<String, String>> records = Kafka.read(this.output);
			String id = IdempotencyKey.of(this.input + "#handle", "payment").id().toString();
			assertThat(records).extracting(OutboxReplayTests::key)
				.containsExactly(id + "-0", id + "-1", id + "-0", id + "-1");
		}
	}

	@Test
	void messagesKeepTheirKeysWhenATransactionIsRetried() {
		try (OutboxApp app = start("embedded", Retrying.class)) {
			Kafka.send(this.input, "payment", "7");
			Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(this.output)).hasSize(4));
			String id = IdempotencyKey.of(this.input + "#handle", "payment").id().toString();
			assertThat(Kafka.read(this.output)).extracting((record) -> record.value() + " " + key(record))
				.containsExactly("before " + id + "-0", "a " + id + "-1", "b " + id + "-2", "after " + id + "-3");
		}
	}

	/**
	 * The common part of both handlers.
	 */
	static class Handler {

		final AtomicInteger runs = new AtomicInteger();

		final AtomicInteger failures = new AtomicInteger();

		@Value("${output}")
		private String output;

		private final Outbox outbox;

		Handler(Outbox outbox) {
			this.outbox = outbox;
		}

		@Transactional
		void pass(String value) {
			this.runs.incrementAndGet();
			this.outbox.send(this.output, "key", value);
			this.outbox.send(this.output, "key", value + "!");
		}

		boolean fails() {
			return this.failures.getAndDecrement() > 0;
		}

	}

	/**
	 * Runs in the transaction of its key.
	 */
	@Import(Handler.class)
	static class Transactionally {

		private final Handler handler;

		Transactionally(Handler handler) {
			this.handler = handler;
		}

		@Idempotent(scope = "${input}#handle")
		@KafkaListener(topics = "${input}", groupId = "${input}")
		void handle(String value) {
			this.handler.pass(value);
		}

	}

	/**
	 * Runs in a transaction of its own.
	 */
	@Import(Handler.class)
	static class Leased {

		private final Handler handler;

		Leased(Handler handler) {
			this.handler = handler;
		}

		@Idempotent(scope = "${input}#handle", mode = Mode.LEASED)
		@KafkaListener(topics = "${input}", groupId = "${input}")
		void handle(String value) {
			this.handler.pass(value);
			if (this.handler.fails()) {
				throw new IllegalStateException("After its transaction");
			}
		}

	}

	/**
	 * Retries its transactions.
	 */
	static class Retrying {

		@Value("${output}")
		private String output;

		private final Outbox outbox;

		private final TransactionTemplate transactions;

		private final TransactionTemplate nested;

		Retrying(Outbox outbox, PlatformTransactionManager manager) {
			this.outbox = outbox;
			this.transactions = new TransactionTemplate(manager);
			this.nested = new TransactionTemplate(manager);
			this.nested.setPropagationBehavior(TransactionDefinition.PROPAGATION_NESTED);
		}

		@Idempotent(scope = "${input}#handle", mode = Mode.LEASED)
		@KafkaListener(topics = "${input}", groupId = "${input}")
		void handle() {
			this.transactions.executeWithoutResult((status) -> send("before"));
			this.transactions.executeWithoutResult((status) -> {
				send("a");
				send("b");
				status.setRollbackOnly();
			});
			this.transactions.executeWithoutResult((status) -> {
				send("a");
				this.nested.executeWithoutResult((inner) -> {
					send("b");
					inner.setRollbackOnly();
				});
				this.nested.executeWithoutResult((inner) -> send("b"));
			});
			this.transactions.executeWithoutResult((status) -> send("after"));
		}

		private void send(String value) {
			this.outbox.send(this.output, "key", value);
		}

	}

}
