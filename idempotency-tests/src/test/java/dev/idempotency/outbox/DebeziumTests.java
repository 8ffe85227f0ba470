/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.support.serializer.DelegatingByTopicSerializer;
import org.springframework.kafka.support.serializer.JacksonJsonSerializer;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for Debezium in place of the relay. Two applications share a table, as during a
 * migration to Debezium: one with a relay, one without. Both send the same messages, each
 * to its own topics.
 */
@Order(3)
class DebeziumTests {

	private static final byte[] BYTES = { 0, -1, 38, 61, 37, 10 };

	private static final List<String> KINDS = List.of("json", "text", "bytes");

	private static final String RUN = Servers.unique("run");

	private static final String url = Servers.newDatabase();

	private static final JdbcTemplate jdbc = Servers.jdbc(url);

	// Tests of a class run one after the other.
	private static final Map<String, List<Published>> records = new HashMap<>();

	private static ConfigurableApplicationContext relay;

	private static ConfigurableApplicationContext debezium;

	private static DebeziumConnector connector;

	@BeforeAll
	static void start() throws Exception {
		relay = start(Map.of("idempotency.outbox.enabled", true));
		connector = new DebeziumConnector(url);
		debezium = start(DebeziumPage.application());
		sendAll(relay, "relay");
		sendAll(debezium, "debezium");
		connector.start();
	}

	private static ConfigurableApplicationContext start(Map<String, Object> properties) {
		TestApp app = TestApp.of().database(url);
		app.with("spring.kafka.producer.value-serializer", DelegatingByTopicSerializer.class.getName());
		app.with("spring.kafka.producer.properties." + DelegatingByTopicSerializer.VALUE_SERIALIZATION_TOPIC_CONFIG,
				"(json|claim).*:" + JacksonJsonSerializer.class.getName() + ",text.*:"
						+ StringSerializer.class.getName() + ",bytes.*:" + ByteArraySerializer.class.getName());
		properties.forEach(app::with);
		return app.run();
	}

	private static String topic(String kind, String sender) {
		return kind + "-" + sender + "-" + RUN;
	}

	private static void sendAll(ConfigurableApplicationContext context, String sender) {
		KINDS.forEach((kind) -> Servers.addTopics(1, topic(kind, sender)));
		String json = topic("json", sender);
		send(context,
				OutboxMessage.to(json).key("account-1").payload(Map.of("amount", 7)).idempotencyKey("object").build(),
				OutboxMessage.to(json).payload("no key").idempotencyKey("no-key").build(),
				OutboxMessage.to(json).key("account-1").idempotencyKey("tombstone").build(),
				OutboxMessage.to(json)
					.key("account-3")
					.payload(Map.of("amount", 3))
					.header("bytes & =", BYTES)
					.header("nothing", (byte[]) null)
					.header("text", "grün")
					.header("text", "")
					.idempotencyKey("headers")
					.build(),
				OutboxMessage.to(topic("text", sender)).key("t").payload("grün").idempotencyKey("text").build(),
				OutboxMessage.to(topic("text", sender)).key("t").payload("").idempotencyKey("empty").build(),
				OutboxMessage.to(topic("bytes", sender)).key("b").payload(BYTES).idempotencyKey("bytes").build());
		transactions(context).executeWithoutResult((status) -> {
			context.getBean(Outbox.class)
				.send(OutboxMessage.to(json).key("account-1").payload("no").idempotencyKey("rolled-back").build());
			status.setRollbackOnly();
		});
		IntStream.range(0, 30)
			.forEach((i) -> send(context,
					Stream.of("account-1", "account-2")
						.map((key) -> OutboxMessage.to(json).key(key).payload(i).idempotencyKey(key + "/" + i).build())
						.toArray(OutboxMessage[]::new)));
	}

	private static TransactionTemplate transactions(ConfigurableApplicationContext context) {
		return new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
	}

	private static void send(ConfigurableApplicationContext context, OutboxMessage... messages) {
		Outbox outbox = context.getBean(Outbox.class);
		transactions(context).executeWithoutResult((status) -> outbox.send(List.of(messages)));
	}

	@AfterAll
	static void stop() throws Exception {
		connector.close();
		debezium.close();
		relay.close();
	}

	// A wrong record would be in the topic before the last expected one.
	private static List<Published> published(String kind, String sender) {
		return records.computeIfAbsent(topic(kind, sender), DebeziumTests::await);
	}

	private static List<Published> await(String topic) {
		List<String> rows = jdbc.queryForList(
				"SELECT idempotency_key FROM idempotency_outbox WHERE topic = ? ORDER BY position", String.class,
				topic);
		Awaitility.await()
			.failFast(() -> assertThat(connector.failure()).isNull())
			.untilAsserted(
					() -> assertThat(Published.read(topic)).extracting(Published::idempotencyKey).containsAll(rows));
		return Published.read(topic);
	}

	private static Map<String, List<List<Object>>> byKey(String kind, String sender) {
		return published(kind, sender).stream()
			.collect(Collectors.groupingBy((record) -> String.valueOf(record.key()),
					Collectors.mapping(Published::content, Collectors.toList())));
	}

	@Test
	void recordsEqualThoseOfTheRelay() {
		for (String kind : KINDS) {
			assertThat(byKey(kind, "debezium")).as(kind).isNotEmpty().isEqualTo(byKey(kind, "relay"));
		}
	}

	@Test
	void recordsOfOneKeyAreInTheOrderOfTheirTransactions() {
		assertThat(byKey("json", "debezium").get("account-2")).extracting((content) -> content.get(1))
			.containsExactlyElementsOf(IntStream.range(0, 30).mapToObj(String::valueOf).toList());
	}

	@Test
	void headersNameTheRow() {
		for (String kind : KINDS) {
			Map<String, String> ids = jdbc
				.queryForList("SELECT idempotency_key, id::text AS id FROM idempotency_outbox WHERE topic = ?",
						topic(kind, "debezium"))
				.stream()
				.collect(Collectors.toMap((row) -> (String) row.get("idempotency_key"),
						(row) -> (String) row.get("id")));
			assertThat(published(kind, "debezium").stream()
				.collect(Collectors.toMap(Published::idempotencyKey, (record) -> record.header(OutboxRow.ID_HEADER))))
				.isEqualTo(ids);
		}
	}

	@Test
	void headersOfTheApplicationArriveInOneHeader() {
		Published record = record("json", "headers");
		assertThat(record.headers()).extracting(OutboxMessage.Header::name)
			.containsExactlyInAnyOrder(OutboxRow.ID_HEADER, OutboxRow.KEY_HEADER, Published.HEADERS);
		assertThat(record.header(Published.HEADERS))
			.startsWith("bytes+%26+%3D=%00%FF%26%3D%25%0A&nothing&text=gr%C3%BCn&text=");
		assertThat(record("text", "text").header(Published.HEADERS)).startsWith(OutboxRow.TIME_HEADER + "=20");
	}

	@Test
	void nullPayloadDiffersFromAnEmptyPayload() {
		assertThat(record("json", "tombstone").value()).isNull();
		assertThat(record("json", "no-key").key()).isNull();
		assertThat(record("text", "empty").value()).isEmpty();
		assertThat(record("bytes", "bytes").value()).isEqualTo(Published.text(BYTES));
	}

	private static Published record(String kind, String idempotencyKey) {
		return published(kind, "debezium").stream()
			.filter((record) -> record.idempotencyKey().equals(idempotencyKey))
			.findAny()
			.orElseThrow();
	}

	@Test
	void rolledBackMessageIsNotPublished() {
		assertThat(published("json", "debezium")).extracting(Published::idempotencyKey)
			.contains("no-key", "account-1/0")
			.doesNotContain("rolled-back");
	}

	@Test
	void relayDoesNotClaimMessagesForDebezium() {
		published("json", "relay");
		OutboxRelay running = relay.getBean(OutboxRelay.class);
		running.stop();
		try {
			String topic = topic("claim", "debezium");
			send(debezium, OutboxMessage.to(topic).key("k").payload("x").build());
			assertThat(jdbc.queryForObject("SELECT published_at IS NOT NULL FROM idempotency_outbox WHERE topic = ?",
					Boolean.class, topic))
				.isTrue();
			try (OutboxStore.Claim claim = relay.getBean(OutboxStore.class).claim(100, Set.of())) {
				assertThat(claim.rows()).isEmpty();
			}
			send(relay, OutboxMessage.to(topic("claim", "relay")).key("k").payload("x").build());
			try (OutboxStore.Claim claim = debezium.getBean(OutboxStore.class).claim(100, Set.of())) {
				assertThat(claim.rows()).hasSize(1);
			}
		}
		finally {
			running.start();
		}
	}

	@Test
	void heartbeatsReleaseTheLogOfTheServer() {
		jdbc.execute("CREATE TABLE other AS SELECT generate_series(1, 1000)");
		String written = jdbc.queryForObject("SELECT pg_current_wal_lsn()::text", String.class);
		Awaitility.await()
			.failFast(() -> assertThat(connector.failure()).isNull())
			.untilAsserted(() -> assertThat(jdbc.queryForObject(
					"SELECT confirmed_flush_lsn >= ?::pg_lsn FROM pg_replication_slots WHERE slot_name = ?",
					Boolean.class, written, connector.slot()))
				.isTrue());
	}

}
