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
import java.util.stream.Stream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.GroupState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.listener.RebalanceApp.Instance;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for partitions that are reassigned or kept while a handler runs or a record is
 * blocked.
 */
@Tag("promise-1")
@Tag("promise-2")
class RebalanceTests {

	private static final Duration TIME = Duration.ofSeconds(40);

	private final String database = Servers.newDatabase();

	private final String topic = Servers.newTopic("rebalance", 4);

	private ConfigurableApplicationContext first;

	private ConfigurableApplicationContext second;

	@AfterEach
	void stop() {
		Stream.of(this.first, this.second).filter((context) -> context != null).forEach((context) -> {
			instance(context).letGo.countDown();
			context.close();
		});
	}

	@Test
	void keptPartitionsAreProcessedDuringACooperativeRebalance() throws Exception {
		sendCopies("a");
		Kafka.send(Kafka.record(this.topic, 0, "slow", "slow"));
		sendCopies("b");
		this.first = cooperative(60_000).run();
		instance(this.first).running.await();
		this.second = cooperative(60_000).run();
		awaitState(GroupState.PREPARING_REBALANCE);
		instance(this.first).letGo.countDown();
		await().atMost(TIME).until(() -> instance(this.second).owned.size() == 2);
		sendCopies("c");
		awaitDone();
		assertThat(effects()).containsExactlyInAnyOrder("a", "slow", "b", "c");
		assertThat(instance(this.first).revoked).hasSize(2);
		// No partition was revoked and assigned again.
		assertThat(instance(this.first).assigned).hasSize(4);
		assertThat(instance(this.first).lost).isEmpty();
		assertThat(instance(this.second).outcomes).containsKey("c");
	}

	@Test
	void recordOfARemovedConsumerIsBlockedAtItsSuccessor() throws Exception {
		Kafka.send(Kafka.record(this.topic, 0, "slow", "slow"));
		this.first = cooperative(3000).run();
		instance(this.first).running.await();
		Kafka.send(Kafka.record(this.topic, 0, "behind", "behind"));
		this.second = cooperative(3000).run();
		await().atMost(TIME)
			.untilAsserted(() -> assertThat(instance(this.second).outcomes).containsEntry("slow", Outcome.IN_PROGRESS));
		sendCopies("b");
		await().atMost(TIME).until(() -> Kafka.lag(this.topic, this.topic) == 3);
		assertThat(effects()).containsExactlyInAnyOrder("slow", "b");
		instance(this.first).letGo.countDown();
		awaitDone();
		assertThat(effects()).containsExactlyInAnyOrder("slow", "b", "behind");
		await().atMost(TIME).untilAsserted(() -> assertThat(instance(this.first).lost).isNotEmpty());
		assertThat(instance(this.second).handled).doesNotContain("slow");
	}

	@Test
	void recordOfAStaticMemberIsBlockedAcrossItsRestart() {
		this.first = member("1").run();
		this.second = member("2").run();
		await().atMost(TIME)
			.until(() -> instance(this.first).owned.size() == 2 && instance(this.second).owned.size() == 2);
		int assignments = instance(this.second).assigned.size();
		List<Integer> owned = List.copyOf(instance(this.first).owned);
		int partition = owned.get(0);
		ClaimRequest other = TestDatabase.request(IdempotencyKey.of(this.topic, "held"), Duration.ofMinutes(5));
		one(this.second.getBean(IdempotencyStore.class)).claim(other);
		for (String value : List.of("before", "held", "behind")) {
			Kafka.send(Kafka.record(this.topic, partition, value, value));
		}
		await().atMost(TIME).untilAsserted(() -> assertThat(instance(this.first).outcomes).containsKey("held"));
		assertThat(instance(this.first).handled).containsExactly("before");
		this.first.close();
		assertThat(Kafka.lag(this.topic, this.topic)).isEqualTo(2);
		this.first = member("1").run();
		await().atMost(TIME)
			.untilAsserted(() -> assertThat(instance(this.first).outcomes).containsEntry("held", Outcome.IN_PROGRESS));
		one(this.second.getBean(IdempotencyStore.class)).release(other);
		awaitDone();
		assertThat(instance(this.first).handled).containsExactly("held", "behind");
		assertThat(instance(this.first).assigned).containsExactlyInAnyOrderElementsOf(owned);
		assertThat(instance(this.second).assigned).hasSize(assignments);
		assertThat(instance(this.second).handled).isEmpty();
	}

	private TestApp cooperative(int maxPollInterval) {
		return app().with("spring.kafka.consumer.properties.session.timeout.ms", 3000)
			.with("spring.kafka.consumer.properties.max.poll.interval.ms", maxPollInterval)
			.with("spring.kafka.consumer.properties.partition.assignment.strategy",
					"org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
	}

	private TestApp member(String id) {
		return app().with("spring.kafka.consumer.properties.group.instance.id", this.topic + "-" + id)
			.with("spring.kafka.consumer.properties.session.timeout.ms", 30_000);
	}

	private TestApp app() {
		return TestApp.of(RebalanceApp.class, Instance.class)
			.database(this.database)
			.with("topic", this.topic)
			.with("spring.kafka.consumer.properties.heartbeat.interval.ms", 500);
	}

	private static Instance instance(ConfigurableApplicationContext context) {
		return context.getBean(Instance.class);
	}

	private List<String> effects() {
		return Stream.of(this.first, this.second).flatMap((context) -> instance(context).handled.stream()).toList();
	}

	// Each partition has a record with the same key.
	private void sendCopies(String value) {
		for (int partition = 0; partition < 4; partition++) {
			Kafka.send(Kafka.record(this.topic, partition, value, value));
		}
	}

	private void awaitDone() {
		await().atMost(TIME).untilAsserted(() -> assertThat(Kafka.lag(this.topic, this.topic)).isZero());
	}

	private void awaitState(GroupState state) {
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()))) {
			await().atMost(TIME)
				.until(() -> admin.describeConsumerGroups(List.of(this.topic))
					.all()
					.get()
					.get(this.topic)
					.groupState() == state);
		}
	}

}
