/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.IdempotencyKeyReusedException;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the fingerprints of messages with derived keys: another event is never
 * treated as a duplicate of an earlier one.
 */
@Tag("promise-9")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class MessageFingerprintTests {

	private final String input = Servers.newTopic("input", 1);

	private final String output = Servers.newTopic("output", 1);

	private OutboxApp app;

	@BeforeAll
	void start() {
		this.app = OutboxApp.start((settings) -> settings.with("input", this.input).with("output", this.output),
				Handlers.class);
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	private Handlers handlers() {
		return TestApp.target(this.app.context(), Handlers.class);
	}

	private void awaitApplied(String... values) {
		Awaitility.await().untilAsserted(() -> assertThat(handlers().applied).contains(values));
	}

	private List<ConsumerRecord<String, String>> published(String account) {
		return Kafka.read(this.output).stream().filter((record) -> account.equals(record.key())).toList();
	}

	private static String header(ConsumerRecord<?, ?> record, String name) {
		return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
	}

	@Test
	void anotherTypeOfEventHasAnotherKey() {
		Kafka.send(this.input, "payment-1", "type");
		awaitApplied("refused type", "charged type");
		assertThat(published("type")).extracting((record) -> header(record, OutboxRow.KEY_HEADER))
			.doesNotHaveDuplicates()
			.hasSize(2)
			.allMatch((key) -> key.length() < 80);
	}

	@Test
	void otherContentWithTheSameKeyIsRejected() {
		Kafka.send(this.input, "payment-2", "content");
		awaitApplied("attempt 1 of content");
		Awaitility.await().untilAsserted(() -> assertThat(Handlers.REJECTED).contains("attempt 2 of content"));
		assertThat(handlers().applied).doesNotContain("attempt 2 of content");
		assertThat(published("content")).extracting((record) -> header(record, OutboxRow.KEY_HEADER))
			.containsOnly(header(published("content").get(0), OutboxRow.KEY_HEADER));
	}

	@Test
	@Tag("promise-3")
	void sameContentIsADuplicate() {
		Kafka.send(this.input, "payment-3", "same");
		Kafka.send(this.input, "payment-4", "end");
		awaitApplied("same", "end");
		assertThat(published("same")).hasSize(2)
			.extracting((record) -> header(record, OutboxRow.FINGERPRINT_HEADER))
			.allMatch((fingerprint) -> fingerprint.matches("[0-9a-f]{32}"))
			.containsOnly(header(published("same").get(0), OutboxRow.FINGERPRINT_HEADER));
		assertThat(handlers().applied).containsOnlyOnce("same");
	}

	// The stored record has no fingerprint, as after an update of the sender only.
	@Test
	@Tag("promise-3")
	void fingerprintIsAcceptedWhenTheStoredRecordHasNone() {
		Kafka.send(this.output, "before", "before");
		ProducerRecord<String, String> after = Kafka.record(this.output, 0, "before", "after");
		after.headers().add(OutboxRow.FINGERPRINT_HEADER, "0123".getBytes(StandardCharsets.UTF_8));
		Kafka.send(after);
		Kafka.send(this.output, "later", "later");
		awaitApplied("before", "later");
		assertThat(handlers().applied).doesNotContain("after");
		assertThat(Handlers.REJECTED).doesNotContain("after");
	}

	// A connector puts all headers into one.
	@Test
	void fingerprintInTheHeaderOfAConnectorIsCompared() {
		for (String[] message : new String[][] { { "first", "4711" }, { "first again", "4711" },
				{ "second", "4712" } }) {
			ProducerRecord<String, String> record = Kafka.record(this.output, 0, "connected", message[0]);
			record.headers()
				.add("idempotency-headers", ("a=b&" + OutboxRow.FINGERPRINT_HEADER + "=" + message[1] + "&c=")
					.getBytes(StandardCharsets.UTF_8));
			Kafka.send(record);
		}
		Awaitility.await().untilAsserted(() -> assertThat(Handlers.REJECTED).contains("second"));
		assertThat(handlers().applied).contains("first").doesNotContain("first again", "second");
		assertThat(Handlers.REJECTED).doesNotContain("first again");
	}

	@Test
	void messageWithAnExplicitKeyHasOnlyTheFingerprintOfItsSender() {
		String topic = Servers.newTopic("own", 1);
		this.app.inTransaction(() -> this.app.outbox()
			.send(List.of(OutboxMessage.to(topic).idempotencyKey("own-1").payload("x").build(),
					OutboxMessage.to(topic)
						.idempotencyKey("own-2")
						.header(OutboxRow.FINGERPRINT_HEADER, "mine")
						.payload("y")
						.build())));
		Awaitility.await().untilAsserted(() -> assertThat(Kafka.read(topic)).hasSize(2));
		assertThat(Kafka.read(topic).get(0).headers().lastHeader(OutboxRow.FINGERPRINT_HEADER)).isNull();
		assertThat(Kafka.read(topic).get(1).headers().headers(OutboxRow.FINGERPRINT_HEADER)).extracting(Header::value)
			.containsExactly("mine".getBytes(StandardCharsets.UTF_8));
	}

	/**
	 * Sends other messages when it runs again, and receives them.
	 */
	static class Handlers {

		private static final Queue<String> REJECTED = new ConcurrentLinkedQueue<>();

		private final Queue<String> applied = new ConcurrentLinkedQueue<>();

		private final AtomicInteger runs = new AtomicInteger();

		private final Outbox outbox;

		private final TransactionTemplate transactions;

		@Value("${output}")
		private String output;

		Handlers(Outbox outbox, PlatformTransactionManager manager) {
			this.outbox = outbox;
			this.transactions = new TransactionTemplate(manager);
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${input}", groupId = "${input}")
		void charge(String value) {
			int run = this.runs.incrementAndGet();
			switch (value) {
				case "type" ->
					send((run == 1) ? "refused" : "charged", value, ((run == 1) ? "refused " : "charged ") + value);
				case "content" -> send("charged", value, "attempt " + run + " of " + value);
				default -> send("charged", value, value);
			}
			if (run == 1 && !value.equals("end")) {
				throw new IllegalStateException("After its transaction");
			}
			this.runs.set(0);
		}

		private void send(String type, String account, String value) {
			this.transactions.executeWithoutResult((status) -> this.outbox
				.send(OutboxMessage.to(this.output).key(account).payload(value).type(type).build()));
		}

		@Idempotent
		@KafkaListener(topics = "${output}", groupId = "${output}")
		void apply(String value) {
			this.applied.add(value);
		}

		@Bean
		static DefaultErrorHandler errorHandler() {
			DefaultErrorHandler handler = new DefaultErrorHandler((record, error) -> {
				if (error.getCause() instanceof IdempotencyKeyReusedException) {
					REJECTED.add(String.valueOf(record.value()));
				}
			}, new FixedBackOff(0, 1));
			return handler;
		}

	}

}
