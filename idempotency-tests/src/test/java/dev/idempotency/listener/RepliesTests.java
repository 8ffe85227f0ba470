/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.kafka.support.converter.StringJacksonJsonMessageConverter;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.DeadLetters;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link dev.idempotency.template.ResultCodec} on a real broker and PostgreSQL:
 * a duplicate replays the stored result.
 */
@Tag("promise-8")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RepliesTests {

	private final String prefix = Servers.unique("replies");

	private ConfigurableApplicationContext context;

	private Listeners listeners;

	private DeadLetters dead;

	@BeforeAll
	void start() {
		for (String name : List.of("one", "many", "none", "leased", "corrupt", "nested", "nested-leased", "large",
				"large-leased")) {
			Servers.addTopics(1, topic(name), topic(name) + "-dead", topic(name) + "-out");
		}
		this.context = TestApp.of(Listeners.class, DeadLetters.class).with("prefix", this.prefix).run();
		this.listeners = TestApp.target(this.context, Listeners.class);
		this.dead = this.context.getBean(DeadLetters.class);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	void duplicateSendsTheSameReplyWithItsOwnCorrelationId() {
		assertReplies("one", "{\"id\":\"7\",\"number\":1}");
	}

	@Test
	void duplicateInLeasedModeSendsTheSameReplyWithItsOwnCorrelationId() {
		assertReplies("leased", "{\"id\":\"7\",\"number\":1}");
	}

	@Test
	void elementsOfListKeepTheirType() {
		sendTwice("many");
		assertThat(bothReplies("many")).extracting(ConsumerRecord::value)
			.containsExactly("[{\"made\":1}]", "[{\"made\":2}]");
	}

	@Test
	void nullIsReplayedAsNull() {
		sendTwice("none");
		assertThat(this.dead.outcomes("RepliesTests.Listeners.none")).containsExactly(Outcome.PROCESSED,
				Outcome.DUPLICATE);
		assertThat(Kafka.read(topic("none") + "-out")).isEmpty();
	}

	@Test
	@Tag("promise-10")
	void recordWithAnUnreadableStoredResultIsRecoveredAtOnce() {
		send("corrupt", "first");
		assertThat(this.context.getBean(JdbcTemplate.class)
			.update("UPDATE idempotency_record SET result = 'secret'::bytea WHERE key = 'corrupt'")).isOne();
		send("corrupt", "second");
		assertThat(this.listeners.runs).filteredOn("corrupt"::equals).hasSize(1);
		assertThat(this.dead.deliveries(topic("corrupt"))).containsExactly(0L, 1L);
		assertThat(DeadLetters.read(topic("corrupt"))).singleElement().satisfies((record) -> {
			assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_CAUSE_FQCN))
				.isEqualTo(IdempotencyResultUnreadableException.class.getName());
			assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_STACKTRACE))
				.contains("its stored result of 6 bytes cannot be read", "topic " + topic("corrupt"), "offset 1")
				.doesNotContain("secret");
		});
	}

	@ParameterizedTest
	@ValueSource(strings = { "nested", "nested-leased" })
	void resultThatCannotBeDeserializedIsReportedAtTheFirstRecord(String name) {
		try (Logs logs = Logs.about(topic(name) + ",")) {
			send(name, "first");
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains("RepliesTests.Listeners.nested", "topic " + topic(name), "partition 0", "offset 0",
						"can be stored but not read back", "Envelope", "rejected", "Correct the result type")
				.doesNotContain("secret");
			send(name, "second");
			assertThat(this.dead.deliveries(topic(name))).containsExactly(0L, 1L);
			assertThat(this.listeners.runs).filteredOn(name::equals).hasSize(1);
			assertThat(DeadLetters.read(topic(name))).singleElement().satisfies((record) -> {
				assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_CAUSE_FQCN))
					.isEqualTo(IdempotencyResultUnreadableException.class.getName());
				assertThat(DeadLetters.header(record, KafkaHeaders.DLT_EXCEPTION_STACKTRACE))
					.contains("Cannot construct instance of `" + Content.class.getName() + "`")
					.doesNotContain("secret");
			});
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "large", "large-leased" })
	void recordWithATooLargeResultIsAnsweredAndItsDuplicateSkipped(String name) {
		try (Logs logs = Logs.about(topic(name) + ",")) {
			sendTwice(name);
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.contains("listener RepliesTests.Listeners.large", "topic " + topic(name), "partition 0", "offset 0",
						"key '" + name + "'", "300002 bytes", "'idempotency.result.maximum-size' (262144)");
		}
		assertThat(this.listeners.runs).filteredOn(name::equals).hasSize(1);
		assertThat(this.dead.outcomes("RepliesTests.Listeners." + name.replace("-l", "L")))
			.containsExactly(Outcome.PROCESSED, Outcome.DUPLICATE);
		assertThat(DeadLetters.read(topic(name))).isEmpty();
		// Spring Kafka commits the offset without waiting for the reply.
		assertThat(await().atMost(Duration.ofSeconds(30))
			.until(() -> Kafka.read(topic(name) + "-out"), (replies) -> !replies.isEmpty())).hasSize(1);
	}

	private void assertReplies(String name, String reply) {
		sendTwice(name);
		assertThat(this.listeners.runs).filteredOn(name::equals).hasSize(1);
		List<ConsumerRecord<String, String>> replies = bothReplies(name);
		assertThat(replies).extracting(ConsumerRecord::value).containsExactly(reply, reply);
		assertThat(replies).extracting((record) -> DeadLetters.header(record, KafkaHeaders.CORRELATION_ID))
			.containsExactly("first", "second");
	}

	private void sendTwice(String name) {
		send(name, "first");
		send(name, "second");
	}

	private void send(String name, String correlation) {
		ProducerRecord<String, String> record = Kafka.record(topic(name), 0, name, "{\"id\":\"7\"}");
		record.headers().add(KafkaHeaders.CORRELATION_ID, correlation.getBytes(StandardCharsets.UTF_8));
		Kafka.send(record);
		await().atMost(Duration.ofSeconds(30))
			.untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic(name))).isZero());
	}

	// Spring Kafka commits the offset without waiting for the reply.
	private List<ConsumerRecord<String, String>> bothReplies(String name) {
		return await().atMost(Duration.ofSeconds(30))
			.until(() -> Kafka.read(topic(name) + "-out"), (replies) -> replies.size() >= 2);
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	record Order(String id) {
	}

	record Receipt(String id, int number) {
	}

	interface Content {

		String text();

	}

	record Text(String text) implements Content {
	}

	record Envelope(List<Content> contents) {
	}

	/**
	 * Proves that the type was deserialized: a list of maps would be written unchanged.
	 */
	record Counting(int made) {

		Counting {
			made++;
		}

	}

	static class Listeners {

		final Queue<String> runs = new ConcurrentLinkedQueue<>();

		@Bean
		static StringJacksonJsonMessageConverter converter() {
			return new StringJacksonJsonMessageConverter();
		}

		@Idempotent
		@SendTo("${prefix}-one-out")
		@KafkaListener(topics = "${prefix}-one", groupId = "${prefix}")
		Receipt one(Order order) {
			return receipt("one", order);
		}

		@Idempotent(mode = Mode.LEASED)
		@SendTo("${prefix}-leased-out")
		@KafkaListener(topics = "${prefix}-leased", groupId = "${prefix}")
		Receipt leased(Order order) {
			return receipt("leased", order);
		}

		@Idempotent
		@SendTo("${prefix}-many-out")
		@KafkaListener(topics = "${prefix}-many", groupId = "${prefix}", splitIterables = false)
		List<Counting> many(Order order) {
			return List.of(new Counting(0));
		}

		@Idempotent
		@SendTo("${prefix}-none-out")
		@KafkaListener(topics = "${prefix}-none", groupId = "${prefix}")
		Receipt none(Order order) {
			return null;
		}

		@Idempotent
		@SendTo("${prefix}-corrupt-out")
		@KafkaListener(topics = "${prefix}-corrupt", groupId = "${prefix}")
		Receipt corrupt(Order order) {
			return receipt("corrupt", order);
		}

		@Idempotent
		@SendTo("${prefix}-nested-out")
		@KafkaListener(topics = "${prefix}-nested", groupId = "${prefix}")
		Envelope nested(Order order) {
			return envelope("nested");
		}

		@Idempotent(mode = Mode.LEASED)
		@SendTo("${prefix}-nested-leased-out")
		@KafkaListener(topics = "${prefix}-nested-leased", groupId = "${prefix}")
		Envelope nestedLeased(Order order) {
			return envelope("nested-leased");
		}

		@Idempotent
		@SendTo("${prefix}-large-out")
		@KafkaListener(topics = "${prefix}-large", groupId = "${prefix}")
		String large(Order order) {
			this.runs.add("large");
			return "x".repeat(300_000);
		}

		@Idempotent(mode = Mode.LEASED)
		@SendTo("${prefix}-large-leased-out")
		@KafkaListener(topics = "${prefix}-large-leased", groupId = "${prefix}")
		String largeLeased(Order order) {
			this.runs.add("large-leased");
			return "x".repeat(300_000);
		}

		private Envelope envelope(String name) {
			this.runs.add(name);
			return new Envelope(List.of(new Text("secret")));
		}

		private Receipt receipt(String name, Order order) {
			this.runs.add(name);
			return new Receipt(order.id(), (int) this.runs.stream().filter(name::equals).count());
		}

	}

}
