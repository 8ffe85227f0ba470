/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.testsupport.RedisCluster;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestApp;
import dev.idempotency.testsupport.TestRedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a cluster that loses a master under traffic, with the default error handler
 * of Boot and only the nodes configured. The keys of each partition belong to one master.
 */
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("outages")
@Order(2)
class RedisClusterOutageTests {

	private static final Duration RESUMED = Duration.ofSeconds(30);

	private static final Duration LONGEST_GAP = Duration.ofSeconds(9);

	private static final long SECOND = Duration.ofSeconds(1).toNanos();

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private final RedisCluster cluster = new RedisCluster();

	private final RedisProcess lost = this.cluster.nodes().get(0);

	private final RedisProcess successor = this.cluster.nodes().get(OutageTraffic.PARTITIONS);

	private final TestApp app = TestApp.of(OutageListeners.class)
		.redis(this.lost)
		.with("spring.data.redis.cluster.nodes",
				this.cluster.nodes()
					.stream()
					.map((node) -> node.host() + ":" + node.port())
					.collect(Collectors.joining(",")))
		.with("idempotency.redis.key-prefix", TestRedis.PREFIX)
		.with("concurrency", OutageTraffic.PARTITIONS);

	@AfterEach
	void stopCluster() {
		this.cluster.close();
	}

	private String key(int number) {
		RedisProcess master = this.cluster.nodes().get(number % OutageTraffic.PARTITIONS);
		return Stream.iterate(0, (i) -> i + 1)
			.map((i) -> "k" + number + "-" + i)
			.filter((key) -> this.cluster
				.masterOf(TestRedis.name(IdempotencyKey.of(OutageListeners.SCOPE, key))) == master)
			.findFirst()
			.orElseThrow();
	}

	// The other test replaces the master later, and checks the same.
	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	@Tag("promise-11")
	@Tag("storm")
	@EnabledIfSystemProperty(named = "test.storm", matches = ".+", disabledReason = "Part of the profile storm")
	void recordsAreProcessedOnceWhenALostMasterIsReplaced() throws InterruptedException {
		try (OutageTraffic traffic = new OutageTraffic(this.app, this::key)) {
			traffic.listeners().holdOne();
			this.lost.stop();
			long end = System.nanoTime();
			traffic.listeners().letGo();
			awaitPromotion();
			long back = System.nanoTime();
			traffic.resumption("Cluster, since the loss", end);
			assertThat(traffic.resumption("Cluster", back)).isLessThan(RESUMED);
			check(traffic, end);
		}
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	@Tag("promise-11")
	void keysOfOtherMastersAreProcessedWhileOneMasterIsLost() throws InterruptedException {
		this.cluster.nodes().forEach((node) -> node.ask("CONFIG SET cluster-require-full-coverage no"));
		this.successor.ask("CONFIG SET cluster-replica-no-failover yes");
		try (OutageTraffic traffic = new OutageTraffic(this.app, this::key)) {
			traffic.listeners().holdOne();
			this.lost.stop();
			long end = System.nanoTime();
			traffic.listeners().letGo();
			traffic.goOn(Duration.ofSeconds(10));
			assertThat(traffic.effects().since(0, end)).isEmpty();
			// The circuit breaker opens for two seconds
			// if as many calls fail as succeed.
			assertThat(traffic.effects().longestGap(1, end)).isLessThan(LONGEST_GAP);
			assertThat(traffic.effects().longestGap(2, end)).isLessThan(LONGEST_GAP);
			this.successor.ask("CONFIG SET cluster-replica-no-failover no");
			awaitPromotion();
			assertThat(traffic.resumption("Cluster, late", System.nanoTime())).isLessThan(RESUMED);
			check(traffic, end);
		}
	}

	private void awaitPromotion() {
		await().atMost(PATIENCE)
			.ignoreExceptionsInstanceOf(UncheckedIOException.class)
			.until(() -> this.successor.ask("INFO replication").contains("role:master"));
	}

	// Writes that the master had confirmed but not replicated are lost.
	private static void check(OutageTraffic traffic, long end) throws InterruptedException {
		List<String> sent = traffic.endAndRepeat();
		assertThat(traffic.effects().keys()).containsAll(sent);
		assertThat(traffic.effects().doubled()).doesNotHaveDuplicates()
			.allSatisfy((key) -> assertThat(traffic.effects().timesOf(key).get(0)).isBetween(end - SECOND, end));
		assertThat(traffic.rebalances()).isZero();
	}

}
