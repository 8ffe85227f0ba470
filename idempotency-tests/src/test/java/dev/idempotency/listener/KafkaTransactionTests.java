/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the completions of Kafka transactions and the after-rollback processor, on a
 * real broker.
 */
@Order(3)
@Execution(ExecutionMode.CONCURRENT)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KafkaTransactionTests {

	private static final Duration PATIENCE = Duration.ofSeconds(60);

	private final String prefix = Servers.unique("transactions");

	private JdbcTemplate jdbc;

	private ConfigurableApplicationContext context;

	private KafkaTransactionListeners listeners;

	private IdempotencyStore store;

	@BeforeAll
	void start() {
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = start(TestApp.of(KafkaTransactionListeners.class, KafkaTransactionConfiguration.class)
			.database(database)
			// Shorter than the time for which a record is blocked in these tests.
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", 6000), this.prefix);
		this.listeners = TestApp.target(this.context, KafkaTransactionListeners.class);
		this.store = this.context.getBean(IdempotencyStore.class);
	}

	private static ConfigurableApplicationContext start(TestApp app, String prefix) {
		Servers.addTopics(1, prefix + "-plain", prefix + "-rollback", prefix + "-recovered", prefix + "-handler",
				prefix + "-batch", prefix + "-fenced", prefix + "-fenced-batch", prefix + "-large", prefix + "-out");
		Servers.addTopics(new NewTopic(prefix + "-small", 1, (short) 1).configs(Map.of("max.message.bytes", "1000")));
		ConfigurableApplicationContext context = app.with("prefix", prefix)
			.with("spring.kafka.producer.transaction-id-prefix", prefix)
			.run();
		context.getBean(CommitHooks.class).look(context.getBean(IdempotencyStore.class), prefix);
		return context;
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void recordIsCompletedAfterTheCommitOfItsTransaction() {
		send("plain", "plain", "plain", "plain");
		assertConsumed("plain");
		assertThat(output("plain")).containsExactly("plain");
		assertThat(this.listeners.runs("plain")).isOne();
		assertThat(this.context.getBean(CommitHooks.class).states("plain")).containsExactly("IN_PROGRESS",
				"IN_PROGRESS");
		assertThat(record("plain")).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void keyIsReleasedBeforeTheRedeliveryIfTheBrokerRefusesTheTransaction() {
		send("plain", "refused", "refused");
		assertConsumed("plain");
		assertThat(output("refused")).containsExactly("refused");
		assertThat(this.listeners.runs("refused")).isEqualTo(2);
		assertThat(this.context.getBean(KafkaTransactionConfiguration.class).blocked).doesNotContainKey("refused");
		assertThat(record("refused")).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-3")
	void outputBeforeAFinalRefusalIsCommittedOnce() {
		send("plain", "declined", "declined");
		assertConsumed("plain");
		assertThat(output("declined")).containsExactly("declined");
		assertThat(this.listeners.runs("declined")).isOne();
		assertThat(record("declined")).isEqualTo(State.COMPLETED);
	}

	@Test
	@Tag("promise-8")
	void outputOfARecordWithATooLargeResultIsCommittedOnce() {
		send("large", "large", "large");
		assertConsumed("large");
		assertThat(this.listeners.runs("large")).isOne();
		assertThat(output("large")).containsExactly("large");
		assertThat(record("large")).isEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "plain", "rollback", "recovered", "handler" })
	@Tag("promise-1")
	@Tag("promise-3")
	void handlerThatFailsTwiceSucceedsAtTheThirdAttempt(String container) {
		send(container, "heals-" + container, "after-" + container, "heals-" + container);
		assertConsumed(container);
		assertThat(output("heals-" + container)).containsExactly("heals-" + container);
		assertThat(output("after-" + container)).containsExactly("after-" + container);
		assertThat(this.listeners.handled)
			.filteredOn((value) -> value.endsWith("s-" + container) || value.equals("after-" + container))
			.containsExactly("heals-" + container, "heals-" + container, "heals-" + container, "after-" + container);
	}

	@ParameterizedTest
	@ValueSource(strings = { "rollback", "recovered", "handler" })
	@Tag("promise-1")
	void blockedDeliveriesUseNoAttempts(String container) {
		String value = "broken-" + container;
		KafkaTransactionConfiguration configuration = this.context.getBean(KafkaTransactionConfiguration.class);
		send(container, value);
		await().atMost(PATIENCE).until(() -> configuration.recovered.contains(value));
		assertThat(this.listeners.runs(value)).isEqualTo(3);
		assertThat(configuration.recovered).containsOnlyOnce(value);
		assertThat(configuration.blocked.get(value)).hasValueGreaterThanOrEqualTo(2);
		// Not every processor commits the offset of
		// a recovered record; the next record does.
		send(container, "next-" + container);
		assertConsumed(container);
		assertThat(record(value)).isNotEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@ValueSource(strings = { "plain", "recovered", "handler" })
	@Tag("promise-1")
	void recordInProgressElsewhereIsBlockedWithoutARebalance(String container) {
		String held = "held-" + container;
		CrashedOwner.claim(this.jdbc, key(held));
		// The containers share a group, and each
		// container that joins causes a rebalance.
		await().atMost(PATIENCE)
			.until(() -> assignments().keySet()
				.containsAll(Stream.of("plain", "rollback", "recovered", "handler").map(this::topic).toList()));
		send(container, "before-" + container);
		assertConsumed(container);
		int assigned = assignments().get(topic(container)).get();
		send(container, "w1-" + container, held, "w2-" + container);
		Map<String, AtomicInteger> blocked = this.context.getBean(KafkaTransactionConfiguration.class).blocked;
		await().atMost(PATIENCE).until(() -> blocked.containsKey(held) && blocked.get(held).get() >= 2);
		assertThat(this.listeners.handled).contains("w1-" + container).doesNotContain(held, "w2-" + container);
		CrashedOwner.endLease(this.jdbc, key(held));
		assertConsumed(container);
		assertThat(this.listeners.handled).filteredOn((value) -> value.matches("(w.|held)-" + container))
			.containsExactly("w1-" + container, held, "w2-" + container);
		assertThat(output(held)).containsExactly(held);
		assertThat(assignments().get(topic(container))).hasValue(assigned);
	}

	private Map<String, AtomicInteger> assignments() {
		return this.context.getBean(KafkaTransactionConfiguration.class).assignments;
	}

	@Test
	@Tag("promise-1")
	void keyIsKeptUntilItsLeaseExpiresIfTheOutcomeOfTheCommitIsUnknown() {
		send("plain", "timeout");
		CommitHooks hooks = this.context.getBean(CommitHooks.class);
		await().atMost(PATIENCE).until(() -> !hooks.states("timeout").isEmpty());
		Set<String> leases = new HashSet<>();
		await().atMost(PATIENCE).until(() -> {
			leases.add(this.jdbc.queryForObject(
					"SELECT lease_until::text || fence FROM idempotency_record WHERE key = 'timeout'", String.class));
			return this.listeners.runs("timeout") == 2;
		});
		assertConsumed("plain");
		// That of the first owner, and possibly that of the second, until it completes.
		assertThat(leases).filteredOn(Objects::nonNull).hasSizeLessThanOrEqualTo(2);
		assertThat(this.context.getBean(KafkaTransactionConfiguration.class).blocked.get("timeout"))
			.hasValueGreaterThan(0);
		assertThat(output("timeout")).containsExactly("timeout");
		assertThat(record("timeout")).isEqualTo(State.COMPLETED);
	}

	@ParameterizedTest
	@CsvSource({ "fenced, fenced", "fenced, late", "fenced-batch, fenced" })
	@Tag("promise-1")
	void fencedRecordAndThoseBehindItAreRedelivered(String container, String value) {
		MessageListenerContainer listener = this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer(container);
		List<String> values = Stream.of("first", value, "behind")
			.map((name) -> name + "-" + container + "-" + value)
			.toList();
		try (Logs logs = Logs.about("container '" + container + "'")) {
			listener.stop();
			send(container, values.toArray(String[]::new));
			listener.start();
			await().atMost(PATIENCE).until(() -> this.listeners.runs(values.get(1)) == 2);
			send(container, "next-" + container + value);
			await().atMost(PATIENCE)
				.untilAsserted(() -> assertThat(Kafka.lag(topic(container), topic(container))).isZero());
			assertThat(logs.messages("WARN")).anyMatch((message) -> message.contains("left a poll early")
					&& message.contains("transaction id prefix '" + this.prefix + "'"));
		}
		assertThat(values).allSatisfy((one) -> {
			assertThat(output(one)).containsExactly(one);
			assertThat(record(one)).isEqualTo(State.COMPLETED);
		});
		// The outcome of a commit that fails is unknown: the key is kept until its lease
		// expires.
		assertThat(this.context.getBean(KafkaTransactionConfiguration.class).blocked.containsKey(values.get(1)))
			.isEqualTo(value.equals("late"));
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void blockedRecordBlocksItsWholeBatch() {
		CrashedOwner.claim(this.jdbc, key("b-held"));
		send("batch", "b-1", "b-2", "b-1", "b-held", "b-3", "b-2");
		this.context.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer("batch").start();
		KafkaTransactionConfiguration configuration = this.context.getBean(KafkaTransactionConfiguration.class);
		await().atMost(PATIENCE).until(() -> configuration.blocked.containsKey("b-held"));
		assertThat(outputOf(this.prefix)).noneMatch((value) -> value.startsWith("b-"));
		CrashedOwner.endLease(this.jdbc, key("b-held"));
		await().atMost(PATIENCE)
			.untilAsserted(() -> assertThat(Kafka.lag(this.prefix + "-batch", topic("batch"))).isZero());
		assertThat(outputOf(this.prefix)).filteredOn((value) -> value.startsWith("b-"))
			.containsExactly("b-1", "b-2", "b-held", "b-3");
		assertThat(List.of("b-1", "b-2", "b-held", "b-3")).extracting(this::record).containsOnly(State.COMPLETED);
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	void recordIsCompletedAfterTheCommitWithTheRedisStore() {
		String name = Servers.unique("transactions");
		try (ConfigurableApplicationContext redis = start(
				TestApp.of(KafkaTransactionListeners.class, KafkaTransactionConfiguration.class).redis(Servers.redis()),
				name)) {
			for (String value : List.of("plain", "plain", "refused", "refused", "heals", "heals")) {
				Kafka.send(name + "-plain", value, value);
			}
			await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(name, name + "-plain")).isZero());
			assertThat(outputOf(name)).containsExactly("plain", "refused", "heals");
			assertThat(redis.getBean(CommitHooks.class).states("plain")).containsExactly("IN_PROGRESS", "IN_PROGRESS");
			IdempotencyStore redisStore = redis.getBean(IdempotencyStore.class);
			assertThat(List.of("plain", "refused", "heals"))
				.extracting((value) -> one(redisStore).find(IdempotencyKey.of(name, value)).orElseThrow().state())
				.containsOnly(State.COMPLETED);
		}
	}

	private void send(String container, String... values) {
		for (String value : values) {
			Kafka.send(topic(container), value, value);
		}
	}

	private String topic(String container) {
		return this.prefix + "-" + container;
	}

	private void assertConsumed(String container) {
		await().atMost(PATIENCE).untilAsserted(() -> assertThat(Kafka.lag(this.prefix, topic(container))).isZero());
	}

	private List<String> output(String value) {
		return outputOf(this.prefix).stream().filter(value::equals).toList();
	}

	private static List<String> outputOf(String name) {
		return Kafka.readCommitted(name + "-out").stream().map(ConsumerRecord::value).toList();
	}

	private State record(String key) {
		return one(this.store).find(key(key)).orElseThrow().state();
	}

	private IdempotencyKey key(String value) {
		return IdempotencyKey.of(this.prefix, value);
	}

}
