/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceLock;

import dev.idempotency.testsupport.RedisSentinel;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a master that is lost under traffic and a replica that Sentinel promotes,
 * with the default error handler of Boot.
 */
@Execution(ExecutionMode.CONCURRENT)
@ResourceLock("outages")
@Order(2)
class RedisSentinelOutageTests {

	private static final Duration RESUMED = Duration.ofSeconds(30);

	private static final Duration OUTAGE = Duration.ofSeconds(2);

	private static final long SECOND = Duration.ofSeconds(1).toNanos();

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private final RedisSentinel servers = new RedisSentinel();

	private final TestApp app = TestApp.of(OutageListeners.class)
		.redis(this.servers.master())
		.with("spring.data.redis.sentinel.master", RedisSentinel.MASTER)
		.with("spring.data.redis.sentinel.nodes",
				this.servers.sentinels()
					.stream()
					.map((sentinel) -> sentinel.host() + ":" + sentinel.port())
					.collect(Collectors.joining(",")));

	@AfterEach
	void stopServers() {
		this.servers.close();
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-3")
	@Tag("promise-11")
	void confirmedCompletionsSurviveAndOthersAreBlockedUntilAReplicaExists() throws InterruptedException {
		this.app.with("idempotency.redis.replicas", 1);
		try (OutageTraffic traffic = new OutageTraffic(this.app)) {
			breakReplication();
			// No replica confirms, so each partition is blocked at its first record.
			traffic.goOn(OUTAGE);
			this.servers.master().stop();
			awaitPromotion();
			Set<String> unconfirmed = new HashSet<>(traffic.effects().keys());
			unconfirmed.removeAll(traffic.listeners().completed());
			assertThat(unconfirmed).isNotEmpty().hasSizeLessThanOrEqualTo(OutageTraffic.PARTITIONS);
			awaitAgreement();
			this.servers.master().start();
			await().atMost(PATIENCE)
				.ignoreExceptionsInstanceOf(UncheckedIOException.class)
				.until(() -> this.servers.replica().ask("INFO replication").contains("state=online"));
			assertThat(traffic.resumption("Sentinel, one replica confirms", System.nanoTime())).isLessThan(RESUMED);
			List<String> sent = traffic.endAndRepeat();
			assertThat(traffic.effects().keys()).containsAll(sent);
			assertThat(traffic.effects().afterCompletion()).isEmpty();
			assertThat(traffic.effects().doubled()).isSubsetOf(unconfirmed);
			assertThat(traffic.rebalances()).isZero();
		}
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-11")
	void keysMissingOnTheReplicaRunAgainWithoutConfirmation() throws InterruptedException {
		// A key is free if the replica has its claim but not its completion.
		this.app.with("idempotency.lease", "5s");
		try (OutageTraffic traffic = new OutageTraffic(this.app)) {
			long begin = System.nanoTime();
			breakReplication();
			traffic.goOn(OUTAGE);
			this.servers.master().stop();
			long end = System.nanoTime();
			awaitPromotion();
			assertThat(traffic.resumption("Sentinel", System.nanoTime())).isLessThan(RESUMED);
			List<String> sent = traffic.endAndRepeat();
			assertThat(traffic.effects().keys()).containsAll(sent);
			assertThat(traffic.effects().doubled()).isNotEmpty()
				.doesNotHaveDuplicates()
				.allSatisfy((key) -> assertThat(traffic.effects().timesOf(key).get(0)).isBetween(begin - 3 * SECOND,
						end + SECOND));
			assertThat(traffic.rebalances()).isZero();
		}
	}

	// The replica no longer replicates from its master.
	private void breakReplication() {
		this.servers.replica().ask("CONFIG SET masterauth wrong");
		this.servers.replica().ask("CLIENT KILL TYPE master");
	}

	private void awaitPromotion() {
		await().atMost(PATIENCE)
			.ignoreExceptionsInstanceOf(UncheckedIOException.class)
			.until(() -> this.servers.replica().ask("INFO replication").contains("role:master"));
	}

	// Until then a client may be directed to the old master, whose writes are lost when
	// it becomes a replica.
	private void awaitAgreement() {
		String port = String.valueOf(this.servers.replica().port());
		await().atMost(PATIENCE)
			.ignoreExceptionsInstanceOf(UncheckedIOException.class)
			.until(() -> this.servers.sentinels()
				.stream()
				.allMatch((sentinel) -> sentinel.ask("SENTINEL get-master-addr-by-name " + RedisSentinel.MASTER)
					.contains(port)));
	}

}
