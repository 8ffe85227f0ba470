/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.acl.AccessControlEntry;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclOperation;
import org.apache.kafka.common.acl.AclPermissionType;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.resource.PatternType;
import org.apache.kafka.common.resource.ResourcePattern;
import org.apache.kafka.common.resource.ResourceType;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.test.EmbeddedKafkaBroker;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Runs the ACL commands of {@code docs/security.md} in a broker with an authorizer, and
 * the library as a principal that has exactly these rights.
 */
@Tag("promise-14")
class KafkaGrantTests {

	private static final String ADMIN = Principals.ADMIN;

	private final EmbeddedKafkaBroker broker = new EmbeddedKafkaKraftBroker(1, 1)
		.brokerProperties(Map.of("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
				"principal.builder.class", Principals.class.getName(), "super.users", "User:" + ADMIN))
		.brokerListProperty("grants.brokers");

	@BeforeEach
	void startBroker() {
		Principals.use(ADMIN);
		this.broker.afterPropertiesSet();
	}

	@AfterEach
	void stopBroker() {
		this.broker.destroy();
	}

	@Test
	void aclsAreSufficient() throws Exception {
		prepareTopics();
		Principals.use("payments");
		assertOthersAreRefused();
		try (TestDatabase database = TestDatabase.create()) {
			JdbcTemplate jdbc = database.jdbc();
			jdbc.execute("CREATE TABLE effect (value text)");
			try (ConfigurableApplicationContext context = TestApp.of(Listeners.class)
				.database(database.url())
				.with("spring.kafka.bootstrap-servers", this.broker.getBrokersAsString())
				.with("idempotency.outbox.enabled", true)
				.run()) {
				await().untilAsserted(() -> assertThat(effects(jdbc)).containsExactlyInAnyOrder("s", "p"));
				await().until(() -> count(jdbc, "idempotency_outbox WHERE published_at IS NOT NULL") == 1);
			}
			assertThat(count(jdbc, "idempotency_record_offset")).isOne();
		}
	}

	private void prepareTopics() throws Exception {
		try (Admin admin = Admin.create(settings()); KafkaProducer<String, String> sender = producer()) {
			admin
				.createTopics(Stream.of("payments", "shipments", "receipts")
					.map((name) -> new NewTopic(name, 1, (short) 1))
					.toList())
				.all()
				.get();
			admin.createAcls(acls()).all().get();
			send(sender, "p");
			sender.send(new ProducerRecord<>("shipments", "s")).get();
		}
	}

	private void assertOthersAreRefused() {
		try (KafkaProducer<String, String> other = producer()) {
			assertThatExceptionOfType(ExecutionException.class)
				.isThrownBy(() -> other.send(new ProducerRecord<>("payments", "forbidden")).get())
				.withCauseInstanceOf(TopicAuthorizationException.class);
		}
	}

	private static void send(KafkaProducer<String, String> sender, String value) throws Exception {
		ProducerRecord<String, String> record = new ProducerRecord<>("payments", 0, value, value);
		record.headers().add(Kafka.KEY_HEADER, value.getBytes());
		sender.send(record).get();
	}

	private static int count(JdbcTemplate jdbc, String table) {
		return jdbc.queryForObject("SELECT count(*) FROM " + table, Integer.class);
	}

	private static List<String> effects(JdbcTemplate jdbc) {
		return jdbc.queryForList("SELECT value FROM effect", String.class);
	}

	private static List<AclBinding> acls() {
		Pattern command = Pattern.compile("\\$acl((?: --operation \\w+)+) --(\\w+) (\\S+)");
		Matcher matcher = command.matcher(Page.of("security.md").blockAfter("The library creates no topic"));
		List<AclBinding> acls = new ArrayList<>();
		while (matcher.find()) {
			ResourcePattern resource = new ResourcePattern(ResourceType.fromString(matcher.group(2)), matcher.group(3),
					PatternType.LITERAL);
			for (String operation : matcher.group(1).strip().split(" ?--operation ")) {
				if (!operation.isEmpty()) {
					acls.add(new AclBinding(resource,
							new AccessControlEntry("User:payments", "*",
									AclOperation.fromString(operation.replaceAll("([a-z])([A-Z])", "$1_$2")),
									AclPermissionType.ALLOW)));
				}
			}
		}
		assertThat(acls).hasSize(6);
		return acls;
	}

	private Map<String, Object> settings() {
		return new HashMap<>(Map.of("bootstrap.servers", this.broker.getBrokersAsString()));
	}

	private KafkaProducer<String, String> producer() {
		return new KafkaProducer<>(settings(), new StringSerializer(), new StringSerializer());
	}

	static class Listeners {

		private final JdbcTemplate jdbc;

		private final Outbox outbox;

		Listeners(JdbcTemplate jdbc, Outbox outbox) {
			this.jdbc = jdbc;
			this.outbox = outbox;
		}

		@Idempotent
		@KafkaListener(topics = "payments", groupId = "ledger")
		void pay(String value) {
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
			this.outbox.send("receipts", value, value);
		}

		@Idempotent(onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "shipments", groupId = "ledger")
		void ship(String value) {
			this.jdbc.update("INSERT INTO effect VALUES (?)", value);
		}

	}

}
