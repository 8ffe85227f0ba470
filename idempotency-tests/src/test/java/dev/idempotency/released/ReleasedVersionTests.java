/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.released;

import java.lang.reflect.Constructor;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.released.Instance.Order;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Two neighbouring versions of the library work on one store, in both directions, as
 * {@code docs/upgrading.md} promises.
 */
@Tag("promise-3")
class ReleasedVersionTests {

	private static ReleasedVersion loader;

	private static Instance released;

	private static Instance current;

	// The newer version finds the tables of the older one.
	@BeforeAll
	static void start() throws Exception {
		Map<String, String> properties = properties();
		loader = ReleasedVersion.load();
		Constructor<?> constructor = loader.loadClass(VersionedApp.class.getName()).getDeclaredConstructor(Map.class);
		constructor.setAccessible(true);
		released = (Instance) constructor.newInstance(properties);
		current = new VersionedApp(properties);
		assertThat(released.getClass()).isNotEqualTo(current.getClass());
	}

	private static Map<String, String> properties() {
		return Map.ofEntries(Map.entry("spring.datasource.url", Servers.newDatabase()),
				Map.entry("spring.datasource.username", Servers.postgres().username()),
				Map.entry("spring.datasource.password", Servers.postgres().password()),
				Map.entry("spring.datasource.hikari.minimum-idle", "0"),
				Map.entry("spring.data.redis.host", Servers.redis().host()),
				Map.entry("spring.data.redis.port", String.valueOf(Servers.redis().port())),
				Map.entry("idempotency.store.type", "jdbc"), Map.entry("idempotency.cleanup.enabled", "false"),
				Map.entry("idempotency.stores.partitions.type", "jdbc"),
				Map.entry("idempotency.stores.partitions.jdbc.table", "partitions"),
				Map.entry("idempotency.stores.partitions.jdbc.layout", "partitioned"),
				Map.entry("idempotency.stores.redis.type", "redis"),
				Map.entry("idempotency.stores.redis.redis.key-prefix", Servers.unique("released") + ":"),
				Map.entry("idempotency.outbox.enabled", "true"), Map.entry("idempotency.outbox.relay", "none"));
	}

	@AfterAll
	static void stop() throws Exception {
		current.close();
		released.close();
		loader.close();
	}

	static Stream<Arguments> operations() {
		return Stream
			.of(order("default", false), order("default", true), order("partitions", false), order("partitions", true),
					order("redis", false))
			.flatMap((order) -> Stream.of(Direction.values()).map((direction) -> Arguments.of(direction, order)));
	}

	static Stream<Arguments> leasedOperations() {
		return operations().filter((arguments) -> !((Order) arguments.get()[1]).transactional());
	}

	private static Order order(String store, boolean transactional) {
		return new Order(store, transactional, "", null, null);
	}

	private static Order unique(Order order) {
		return new Order(order.store(), order.transactional(), Servers.unique("key"), null, null);
	}

	@ParameterizedTest
	@MethodSource("operations")
	void completionOfOneVersionIsADuplicateForTheOther(Direction direction, Order any) {
		Order order = unique(any);
		assertThat(direction.first().run(order, () -> "paid")).isEqualTo("paid 1");
		assertThat(direction.second().run(order, () -> "again")).isEqualTo("duplicate paid 1");
		assertThat(direction.second().find(order)).isEqualTo("COMPLETED 1 1 null");
		assertThat(direction.first().run(order, () -> "again")).isEqualTo("duplicate paid 1");
	}

	@ParameterizedTest
	@MethodSource("operations")
	void failureOfOneVersionIsRetriedByTheOther(Direction direction, Order any) {
		Order order = unique(any);
		assertThat(direction.first().run(order, () -> {
			throw new IllegalArgumentException("unknown account");
		})).isEqualTo("IllegalArgumentException");
		assertThat(direction.second().find(order)).startsWith("FAILED 1 1").contains("unknown account");
		assertThat(direction.second().run(order, () -> "paid")).isEqualTo("paid 2");
		assertThat(direction.first().run(order, () -> "again")).isEqualTo("duplicate paid 2");
	}

	@ParameterizedTest
	@MethodSource("operations")
	void operationThatOneVersionDeclinesIsDeclinedByTheOther(Direction direction, Order any) {
		Order order = unique(any);
		assertThat(direction.first().run(order, () -> {
			throw new UnsupportedOperationException("account closed");
		})).contains("account closed");
		assertThat(direction.second().run(order, () -> "again")).isEqualTo("account closed");
	}

	@ParameterizedTest
	@MethodSource("operations")
	void otherContentIsNoticedByTheOtherVersion(Direction direction, Order any) {
		Order order = unique(any).withContent("10 EUR");
		assertThat(direction.first().run(order, () -> "paid")).isEqualTo("paid 1");
		assertThat(direction.second().run(order.withContent("20 EUR"), () -> "again"))
			.isEqualTo("IdempotencyKeyReusedException");
		assertThat(direction.second().run(order, () -> "again")).isEqualTo("duplicate paid 1");
	}

	@ParameterizedTest
	@MethodSource("operations")
	void versionsOfContentAreComparedWithThoseOfTheOtherVersion(Direction direction, Order any) {
		Order order = unique(any);
		assertThat(direction.first().run(order.withVersion(2), () -> "second")).isEqualTo("second 1");
		assertThat(direction.second().run(order.withVersion(1), () -> "first")).contains("stale");
		assertThat(direction.second().run(order.withVersion(3), () -> "third")).isEqualTo("third 1");
		assertThat(direction.first().run(order.withVersion(2), () -> "again")).contains("stale");
		assertThat(direction.first().run(order.withVersion(3), () -> "again")).isEqualTo("duplicate third 1");
	}

	@ParameterizedTest
	@MethodSource("leasedOperations")
	void operationOfOneVersionBlocksTheOther(Direction direction, Order any) throws InterruptedException {
		Order order = unique(any);
		CountDownLatch running = new CountDownLatch(1);
		CountDownLatch end = new CountDownLatch(1);
		CompletableFuture<String> first = CompletableFuture.supplyAsync(() -> direction.first().run(order, () -> {
			running.countDown();
			assertThat(end).satisfies((latch) -> assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue());
			return "paid";
		}));
		assertThat(running.await(20, TimeUnit.SECONDS)).isTrue();
		assertThat(direction.second().run(order, () -> "again")).isEqualTo("OperationInProgressException");
		end.countDown();
		assertThat(first).succeedsWithin(Duration.ofSeconds(20)).isEqualTo("paid 1");
		assertThat(direction.second().run(order, () -> "again")).isEqualTo("duplicate paid 1");
	}

	@ParameterizedTest
	@MethodSource("leasedOperations")
	void expiredClaimOfOneVersionIsTakenOverByTheOther(Direction direction, Order any) {
		Order order = unique(any);
		assertThat(direction.first().claim(order, 1)).isEqualTo("Acquired[fence=1, attempt=1]");
		await().pollDelay(Duration.ZERO)
			.until(() -> direction.second().claim(order, 60_000), "Acquired[fence=2, attempt=2]"::equals);
		assertThat(direction.first().complete(order)).isEqualTo("LOST");
		assertThat(direction.second().complete(order)).isEqualTo("SETTLED");
	}

	@ParameterizedTest
	@EnumSource
	void offsetsOfOneVersionAreThoseOfTheOther(Direction direction) {
		for (String store : List.of("default", "partitions")) {
			String topic = Servers.unique("topic");
			assertThat(direction.first().raise(store, topic, 5)).isEqualTo(-1);
			assertThat(direction.second().raise(store, topic, 5)).isEqualTo(5);
			assertThat(direction.second().raise(store, topic, 6)).isEqualTo(5);
			assertThat(direction.first().raise(store, topic, 4)).isEqualTo(6);
		}
	}

	@ParameterizedTest
	@EnumSource
	void messageOfOneVersionIsPublishedByTheOther(Direction direction) {
		direction.first().send("account-1", "payload");
		assertThat(direction.second().relay()).singleElement()
			.asString()
			.startsWith("account-1 payload ")
			.endsWith("true");
		assertThat(direction.first().relay()).isEmpty();
	}

	enum Direction {

		RELEASED_TO_CURRENT, CURRENT_TO_RELEASED;

		Instance first() {
			return (this == RELEASED_TO_CURRENT) ? released : current;
		}

		Instance second() {
			return (this == RELEASED_TO_CURRENT) ? current : released;
		}

	}

}
