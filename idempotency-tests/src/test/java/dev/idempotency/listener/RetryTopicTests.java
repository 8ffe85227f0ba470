/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for retry topics: a record is the same operation on the main, the retry and the
 * dead-letter topic.
 */
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class RetryTopicTests {

	private static final List<String> LISTENERS = List.of("explicit", "inherited", "buried");

	private final String prefix = Servers.unique("retrytopic");

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		for (String name : LISTENERS) {
			Servers.addTopics(1, topic(name), topic(name) + "-retry", topic(name) + "-dlt");
		}
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(RetryTopicListeners.class)
			.database(database)
			.with("prefix", this.prefix)
			.with("spring.kafka.consumer.group-id", this.prefix)
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "explicit", "inherited" })
	@Tag("promise-3")
	void recordIsTheSameOperationOnEveryTopic(String name) {
		Kafka.send(topic(name), "dead-" + name, "dead");
		await("dead letter").atMost(Duration.ofSeconds(30)).until(() -> seen("dead-" + name), has(4));
		// The key is released before the record is published to the next topic, so it is
		// claimed there at once, with the next attempt.
		assertThat(seen("dead-" + name)).containsExactly(topic(name) + " 1", topic(name) + "-retry 2",
				topic(name) + "-retry 3", topic(name) + "-dlt unprotected");
		assertThat(records("dead-" + name)).singleElement()
			.satisfies((record) -> assertThat(record).containsEntry("state", "F")
				.containsEntry("scope", scope(name))
				.containsEntry("attempt", 3));
	}

	@ParameterizedTest
	@ValueSource(strings = { "explicit", "inherited" })
	@Tag("promise-3")
	void redrivenDeadLetterIsProcessedOnce(String name) {
		Kafka.send(topic(name), "driven-" + name, "dead");
		await("dead letter").atMost(Duration.ofSeconds(30)).until(() -> seen("driven-" + name), has(4));
		ProducerRecord<String, String> again = Kafka.record(topic(name), 0, "driven-" + name, "good");
		Kafka.send(again);
		Kafka.send(again);
		await("main topic").atMost(Duration.ofSeconds(30)).until(() -> Kafka.lag(group(name), topic(name)) == 0);
		assertThat(seen("driven-" + name)).hasSize(5).endsWith(topic(name) + " 4");
		assertThat(records("driven-" + name)).singleElement()
			.satisfies((record) -> assertThat(record).containsEntry("state", "C"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "explicit", "inherited" })
	@Tag("promise-3")
	void recordWithoutKeyIsADuplicateAfterItsCompletionOnTheRetryTopic(String name) {
		Kafka.send(topic(name), null, "heals");
		await("retry topic").atMost(Duration.ofSeconds(30)).until(() -> seen(name), has(2));
		ConsumerRecord<String, String> retried = Kafka.read(topic(name) + "-retry")
			.stream()
			.filter((record) -> record.headers().lastHeader(Kafka.KEY_HEADER) == null)
			.findFirst()
			.orElseThrow();
		await("completed").atMost(Duration.ofSeconds(10)).until(() -> coordinates(name), has(1));
		// A redelivery on the retry topic has the headers of the first delivery.
		Kafka.send(new ProducerRecord<>(topic(name) + "-retry", 0, retried.key(), retried.value(), retried.headers()));
		await("retry topic").atMost(Duration.ofSeconds(30))
			.until(() -> Kafka.lag(retryGroup(name), topic(name) + "-retry") == 0);
		assertThat(seen(name)).containsExactly(topic(name) + " 1", topic(name) + "-retry 2");
		assertThat(coordinates(name)).singleElement()
			.satisfies((record) -> assertThat(record).containsEntry("state", "C").containsEntry("attempt", 2));
	}

	@ParameterizedTest
	@ValueSource(strings = { "explicit", "inherited" })
	@Tag("promise-1")
	void keyInProgressElsewhereUsesNoAttemptOnTheRetryTopic(String name) {
		String key = "held-" + name;
		Kafka.send(topic(name), key, "heals");
		await("retry topic").atMost(Duration.ofSeconds(30)).until(() -> seen(key), has(2));
		// Blocked deliveries do not count as attempts.
		assertThat(seen(key)).containsExactly(topic(name) + " 1", topic(name) + "-retry 2");
		assertThat(Kafka.read(topic(name) + "-retry"))
			.filteredOn((record) -> key.equals(RetryTopicListeners.Seen.key(record, name)))
			.hasSize(1);
		assertThat(Kafka.read(topic(name) + "-dlt"))
			.filteredOn((record) -> key.equals(RetryTopicListeners.Seen.key(record, name)))
			.isEmpty();
		assertThat(seen().waited).contains(key);
	}

	@Test
	@Tag("promise-3")
	void deadLetterIsItsOwnOperationAndARedeliveryOfItIsSkipped() {
		Kafka.send(topic("buried"), "letter", "dead");
		await("dead letter").atMost(Duration.ofSeconds(30)).until(() -> seen("letter"), has(3));
		ConsumerRecord<String, String> dead = Kafka.read(topic("buried") + "-dlt").get(0);
		// A copy of the record that failed a second time.
		Kafka.send(new ProducerRecord<>(topic("buried") + "-dlt", 0, dead.key(), dead.value(), dead.headers()));
		await("dead letter").atMost(Duration.ofSeconds(30)).until(() -> seen("letter"), has(4));
		MessageListenerContainer container = this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer("buried-dlt");
		container.stop();
		Kafka.rewind(group("buried") + "-dlt", topic("buried") + "-dlt");
		container.start();
		await("dead-letter topic").atMost(Duration.ofSeconds(30))
			.until(() -> Kafka.lag(group("buried") + "-dlt", topic("buried") + "-dlt") == 0);
		assertThat(seen("letter")).containsExactly(topic("buried") + " 1", topic("buried") + "-retry 2",
				topic("buried") + "-dlt 1", topic("buried") + "-dlt 1");
		assertThat(records("letter")).singleElement()
			.satisfies((record) -> assertThat(record).containsEntry("state", "F"));
		assertThat(this.jdbc.queryForList("SELECT state::text FROM idempotency_record WHERE scope = ?", String.class,
				scope("buried") + "#dead-letter"))
			.containsExactly("C", "C");
	}

	private String topic(String name) {
		return this.prefix + "-" + name;
	}

	private String group(String name) {
		return name.equals("inherited") ? this.prefix : this.prefix + "-" + name;
	}

	// Spring Kafka gives the retry topic its own group if the listener names a group.
	private String retryGroup(String name) {
		return name.equals("inherited") ? this.prefix : group(name) + "-retry";
	}

	private String scope(String name) {
		return group(name) + "/" + topic(name);
	}

	private List<String> seen(String key) {
		return List.copyOf(seen().of(key));
	}

	private static Predicate<List<?>> has(int size) {
		return (list) -> list.size() >= size;
	}

	private RetryTopicListeners.Seen seen() {
		return this.context.getBean(RetryTopicListeners.Seen.class);
	}

	private List<Map<String, Object>> records(String key) {
		return this.jdbc.queryForList(
				"SELECT scope, state::text, attempt FROM idempotency_record WHERE key = ? ORDER BY scope", key);
	}

	private List<Map<String, Object>> coordinates(String name) {
		return this.jdbc.queryForList("SELECT state::text, attempt FROM idempotency_record "
				+ "WHERE scope = ? AND key LIKE ? AND state = 'C'", scope(name), topic(name) + "-0-%@%");
	}

}
