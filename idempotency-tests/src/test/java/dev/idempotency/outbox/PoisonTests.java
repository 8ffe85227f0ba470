/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.actuate.OutboxEndpoint;
import dev.idempotency.actuate.OutboxEndpoint.DeadLetterDescriptor;
import dev.idempotency.actuate.OutboxEndpoint.MessagesChanged;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for messages that the broker refuses or that cannot be decoded.
 */
@Order(3)
class PoisonTests {

	private static final String LARGE = "x".repeat(10_000);

	private static ConfigurableApplicationContext context;

	private static Events events;

	private static OutboxEndpoint endpoint;

	@BeforeAll
	static void start() {
		context = TestApp.of(Events.class)
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.max-attempts", 3)
			.with("idempotency.outbox.send-timeout", Kafka.splitsWithoutEnd() ? "5s" : "20s")
			.with("management.endpoints.web.exposure.include", "idempotencyoutbox")
			.with("management.endpoint.idempotencyoutbox.access", "unrestricted")
			.run();
		events = context.getBean(Events.class);
		endpoint = context.getBean(OutboxEndpoint.class);
	}

	@AfterAll
	static void stop() {
		context.close();
	}

	// One partition, so that a refused message shares a batch with others.
	private static String topicOfSmallMessages() {
		String topic = Servers.unique("poison-");
		Servers.addTopics(new NewTopic(topic, 1, (short) 1).configs(Map.of("max.message.bytes", "2000")));
		return topic;
	}

	private static OutboxMessage message(String topic, String key, String name, String payload) {
		return OutboxMessage.to(topic).key(key).aggregate(name, name).payload(payload).build();
	}

	private static void send(OutboxMessage... messages) {
		send(context, messages);
	}

	private static void send(ConfigurableApplicationContext application, OutboxMessage... messages) {
		new TransactionTemplate(application.getBean(PlatformTransactionManager.class))
			.executeWithoutResult((status) -> application.getBean(Outbox.class).send(List.of(messages)));
	}

	private static @Nullable DeadLetterDescriptor shown(String topic, String name) {
		return endpoint.view("dead-letters", null, SecurityContext.NONE)
			.messages()
			.stream()
			.filter((message) -> message.topic().equals(topic) && message.aggregateId().equals(name))
			.findFirst()
			.orElse(null);
	}

	private static List<String> values(String topic, String key) {
		return Kafka.read(topic)
			.stream()
			.filter((record) -> record.key().equals(key))
			.map(ConsumerRecord::value)
			.toList();
	}

	private static MessagesChanged change(String action, UUID id) {
		return endpoint.change(action, id.toString(), null, null, SecurityContext.NONE);
	}

	@Test
	@Tag("promise-15")
	void deadLetterBlocksOnlyMessagesWithItsKeyUntilItIsDiscarded() {
		String topic = topicOfSmallMessages();
		events.afterFirst(topic + " poison REFUSED",
				() -> send(message(topic, "a", "third", "3"), message(topic, "b", "fourth", "4")));
		send(message(topic, "a", "poison", LARGE), message(topic, "a", "first", "1"),
				message(topic, "b", "second", "2"));
		await().untilAsserted(() -> assertThat(blocked(topic)).isEqualTo(2));
		assertThat(events.to(topic)).hasSize(5).doesNotContain("first PUBLISHED", "third PUBLISHED");
		DeadLetterDescriptor shown = shown(topic, "poison");
		assertThat(change("discard", shown.id()).outcome()).isEqualTo(Change.DONE);
		await().untilAsserted(() -> assertThat(events.to(topic)).contains("third PUBLISHED", "fourth PUBLISHED"));
		List<String> ofTopic = events.to(topic);
		assertThat(ofTopic).containsSubsequence("poison REFUSED", "poison REFUSED", "poison DEAD_LETTER",
				"first PUBLISHED", "third PUBLISHED");
		assertThat(ofTopic).containsSubsequence("second PUBLISHED", "fourth PUBLISHED", "poison DEAD_LETTER");
		assertThat(ofTopic).hasSize(7);
		assertThat(values(topic, "a")).containsExactly("1", "3");
		assertThat(values(topic, "b")).containsExactly("2", "4");
		assertThat(shown.attempts()).isEqualTo(3);
		assertThat(shown.error().type()).isEqualTo(RecordTooLargeException.class.getName());
		assertThat(shown.error().message()).isNull();
		assertThat(shown.toString()).doesNotContain(LARGE);
	}

	private static int blocked(String topic) {
		return context.getBean(JdbcTemplate.class)
			.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE topic = ? AND blocked_by IS NOT NULL",
					Integer.class, topic);
	}

	// The broker refuses one of them; the other cannot be decoded.
	@Test
	@Tag("promise-1")
	@Tag("promise-14")
	void deadLetterAmongThousandsLosesNoMessageAndKeepsTheOrder() {
		String topic = topicOfSmallMessages();
		int keys = 40;
		int messages = 4000;
		List<OutboxMessage> first = new ArrayList<>(
				IntStream.range(0, messages / 2).mapToObj((i) -> numbered(topic, i % keys, i)).toList());
		first.add(message(topic, "k7", "large", LARGE));
		send(first.toArray(OutboxMessage[]::new));
		insert(topic, "k8", "broken", lane(topic, "k8"), "50%");
		send(IntStream.range(messages / 2, messages)
			.mapToObj((i) -> numbered(topic, i % keys, i))
			.toArray(OutboxMessage[]::new));
		int behind = messages / 2 / keys;
		await().untilAsserted(() -> assertThat(blocked(topic)).isEqualTo(2 * behind));
		await().untilAsserted(() -> assertThat(Set.copyOf(values(topic))).hasSize(messages - 2 * behind));
		assertThat(endpoint.overview().blocked()).isGreaterThanOrEqualTo(2 * behind);
		assertThat(endpoint.change("discard", null, topic, 10, SecurityContext.NONE).messages()).isEqualTo(2);
		await().untilAsserted(() -> assertThat(Set.copyOf(values(topic))).hasSize(messages));
		// A message is repeated when the answer of a busy broker is overdue.
		Map<Integer, List<Integer>> byKey = values(topic).stream()
			.distinct()
			.collect(Collectors.groupingBy((i) -> i % keys));
		assertThat(byKey).hasSize(keys).allSatisfy((key, values) -> assertThat(values).isSorted());
	}

	private static OutboxMessage numbered(String topic, int key, int number) {
		return message(topic, "k" + key, "n", String.valueOf(number));
	}

	private static List<Integer> values(String topic) {
		return Kafka.read(topic).stream().map((record) -> Integer.valueOf(record.value())).toList();
	}

	@Test
	void deadLetterIsPublishedWhenItIsRetriedAfterTheFix() throws Exception {
		String topic = topicOfSmallMessages();
		send(message(topic, "a", "poison", LARGE));
		await().untilAsserted(() -> assertThat(events.to(topic)).contains("poison DEAD_LETTER"));
		DeadLetterDescriptor shown = shown(topic, "poison");
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()))) {
			admin
				.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, topic),
						List.of(new AlterConfigOp(new ConfigEntry("max.message.bytes", "100000"), OpType.SET))))
				.all()
				.get();
		}
		assertThat(change("retry", shown.id()).outcome()).isEqualTo(Change.DONE);
		await().untilAsserted(() -> assertThat(events.to(topic)).contains("poison PUBLISHED"));
		assertThat(values(topic, "a")).containsExactly(LARGE);
		assertThat(shown(topic, "poison")).isNull();
		assertThat(change("retry", shown.id()).outcome()).isEqualTo(Change.ABSENT);
	}

	// As a script or another version may write it.
	private static void insert(String topic, String key, String name, int lane, String headers) {
		context.getBean(JdbcTemplate.class)
			.update("""
					INSERT INTO idempotency_outbox (id, lane, aggregatetype, aggregateid, type, topic, message_key, payload,
					  headers, idempotency_key)
					VALUES (gen_random_uuid(), ?, 'a', ?, 't', ?, convert_to(?, 'UTF8'), '1', ?, 'k')""",
					lane, name, topic, key, headers);
	}

	private static int lane(String topic, String key) {
		return new OutboxRow(UUID.randomUUID(), topic, key.getBytes(StandardCharsets.UTF_8), null, List.of(), key, key,
				key, key)
			.lane(64);
	}

	@Test
	@Tag("promise-14")
	void undecodableRowIsADeadLetterAtOnceAndItsNeighboursArePublished() {
		String topic = Servers.newTopic("poison-", 1);
		int lane = lane(topic, "a");
		try (Logs logs = Logs.about(topic)) {
			insert(topic, "a", "headers", lane, "card=4711%");
			insert(topic, "b", "lane", (lane(topic, "b") + 1) % 64, null);
			send(message(topic, "b", "neighbour", "2"), message(topic, sameLane(topic, lane), "same lane", "3"));
			await().untilAsserted(() -> assertThat(events.to(topic)).containsExactlyInAnyOrder("headers DEAD_LETTER",
					"lane DEAD_LETTER", "neighbour PUBLISHED", "same lane PUBLISHED"));
			DeadLetterDescriptor shown = shown(topic, "headers");
			assertThat(shown.attempts()).isOne();
			assertThat(shown.error().type()).isEqualTo(UndecodableMessageException.class.getName());
			assertThat(logs.messages("ERROR")).anyMatch((line) -> line.contains("to " + topic + " cannot be decoded"))
				.noneMatch((line) -> line.contains("4711"));
		}
		assertThat(Kafka.read(topic)).hasSize(2);
	}

	private static String sameLane(String topic, int lane) {
		return IntStream.range(0, Integer.MAX_VALUE)
			.mapToObj((i) -> "key" + i)
			.filter((key) -> lane(topic, key) == lane)
			.findFirst()
			.orElseThrow();
	}

	@Test
	void retryWakesTheRelay() {
		try (ConfigurableApplicationContext sleepy = TestApp.of(Events.class)
			.with("idempotency.outbox.enabled", true)
			.with("idempotency.outbox.max-attempts", 1)
			.with("idempotency.outbox.poll-interval", "1h")
			.with("management.endpoints.web.exposure.include", "idempotencyoutbox")
			.run()) {
			List<String> sent = sleepy.getBean(Events.class).events;
			send(sleepy, message("not/valid", "a", "poison", "1"));
			await().until(() -> sent.size() == 1);
			OutboxEndpoint asked = sleepy.getBean(OutboxEndpoint.class);
			DeadLetterDescriptor letter = asked.view("dead-letters", 1, SecurityContext.NONE).messages().get(0);
			asked.change("retry", letter.id().toString(), null, null, SecurityContext.NONE);
			await().until(() -> sent.size() == 2);
		}
	}

	@Test
	void messageToAnInvalidTopicCanBeDiscarded() {
		String topic = Servers.newTopic("poison-", 1);
		String invalid = topic + "/invalid";
		send(message(invalid, "a", "poison", "1"), message(topic, "a", "other", "2"));
		await().untilAsserted(() -> assertThat(events.to(invalid)).contains("poison DEAD_LETTER"));
		assertThat(events.to(invalid)).containsExactly("poison REFUSED", "poison REFUSED", "poison DEAD_LETTER");
		assertThat(events.events).containsSubsequence(topic + " other PUBLISHED", invalid + " poison DEAD_LETTER");
		DeadLetterDescriptor shown = shown(invalid, "poison");
		assertThat(shown.error().type()).isEqualTo(InvalidTopicException.class.getName());
		assertThat(change("discard", shown.id()).outcome()).isEqualTo(Change.DONE);
		assertThat(rows(shown.id())).isZero();
		assertThat(change("discard", shown.id()).outcome()).isEqualTo(Change.ABSENT);
	}

	@Test
	void pendingMessageCannotBeDiscarded() {
		String topic = Servers.newTopic("poison-", 1);
		send(message(topic, "a", "good", "1"));
		await().untilAsserted(() -> assertThat(events.to(topic)).contains("good PUBLISHED"));
		UUID id = context.getBean(JdbcTemplate.class)
			.queryForObject("SELECT id FROM idempotency_outbox WHERE topic = ?", UUID.class, topic);
		assertThat(change("discard", id).outcome()).isEqualTo(Change.ABSENT);
		assertThat(rows(id)).isOne();
	}

	private static int rows(UUID id) {
		return context.getBean(JdbcTemplate.class)
			.queryForObject("SELECT count(*) FROM idempotency_outbox WHERE id = ?", Integer.class, id);
	}

	/**
	 * Records the events of the relay, as topic, name and outcome.
	 */
	static class Events implements OutboxObserver {

		private final List<String> events = new CopyOnWriteArrayList<>();

		private volatile String awaited = "";

		private volatile Runnable action = () -> {
		};

		void afterFirst(String event, Runnable action) {
			this.action = action;
			this.awaited = event;
		}

		List<String> to(String topic) {
			return this.events.stream()
				.filter((event) -> event.startsWith(topic + " "))
				.map((event) -> event.substring(topic.length() + 1))
				.toList();
		}

		@Override
		public void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
			if (outcome == PublishOutcome.UNAVAILABLE && Kafka.splitsWithoutEnd()) {
				return;
			}
			String event = row.topic() + " " + row.aggregateId() + " " + outcome;
			this.events.add(event);
			if (event.equals(this.awaited)) {
				this.awaited = "";
				this.action.run();
			}
		}

	}

}
