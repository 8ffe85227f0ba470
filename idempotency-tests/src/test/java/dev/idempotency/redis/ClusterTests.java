/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.ClusterTopologyRefreshOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.RedisCluster;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link RedisIdempotencyStore} in a cluster.
 */
class ClusterTests {

	private static final int KEYS = 30;

	private static RedisCluster cluster;

	private static LettuceConnectionFactory factory;

	@BeforeAll
	static void startCluster() {
		cluster = new RedisCluster();
		// As in Lettuce 7, so that the test also runs with Lettuce 6.
		LettuceClientConfiguration client = LettuceClientConfiguration.builder()
			.clientOptions(ClusterClientOptions.builder()
				.topologyRefreshOptions(ClusterTopologyRefreshOptions.builder()
					.enableAllAdaptiveRefreshTriggers()
					.adaptiveRefreshTriggersTimeout(Duration.ofSeconds(5))
					.build())
				.build())
			.build();
		factory = TestRedis.started(
				new LettuceConnectionFactory(
						new RedisClusterConfiguration(
								cluster.nodes().stream().map((node) -> node.host() + ":" + node.port()).toList()),
						client));
		TestRedis.awaitContact(TestRedis.store(factory, 0));
	}

	@AfterAll
	static void stopCluster() {
		factory.destroy();
		cluster.close();
	}

	private static List<ClaimRequest> requests() {
		return IntStream.range(0, KEYS).mapToObj((i) -> TestDatabase.request(TestDatabase.newKey())).toList();
	}

	@Test
	void keysOnAllNodesAreClaimedRenewedAndCompleted() {
		List<ClaimRequest> requests = requests();
		try (RedisIdempotencyStore store = TestRedis.store(factory, 0)) {
			assertThat(requests)
				.allSatisfy((request) -> assertThat(one(store).claim(request)).isEqualTo(new Claim.Acquired(1, 1)));
			assertThat(store.renew(requests)).hasSize(KEYS).containsOnly(Settlement.SETTLED);
			assertThat(requests)
				.allSatisfy((request) -> assertThat(one(store).complete(request, null)).isEqualTo(Settlement.SETTLED));
		}
	}

	@Test
	@Tag("promise-15")
	void memoryPolicyOfEveryNodeIsRead() {
		RedisProcess master = cluster.nodes().get(1);
		RedisProcess replica = cluster.nodes().get(5);
		try (RedisIdempotencyStore store = TestRedis.store(factory, 1)) {
			assertThat(store.inspect(Duration.ofSeconds(30))).satisfies((findings) -> {
				assertThat(findings.refused()).isEmpty();
				assertThat(findings.evicting()).isEmpty();
			});
			List.of(master, replica).forEach((node) -> {
				node.ask("CONFIG SET maxmemory 100mb");
				node.ask("CONFIG SET maxmemory-policy volatile-ttl");
			});
			assertThat(store.inspect(Duration.ofSeconds(30)).evicting())
				.isEqualTo(Map.of(master.host() + ":" + master.port(), "volatile-ttl",
						replica.host() + ":" + replica.port(), "volatile-ttl"));
		}
		finally {
			List.of(master, replica).forEach((node) -> node.ask("CONFIG SET maxmemory 0"));
		}
	}

	@Test
	@Tag("promise-11")
	void confirmedCompletionSurvivesAFailoverOfTheCluster() {
		List<ClaimRequest> requests = requests();
		try (RedisIdempotencyStore store = TestRedis.store(factory, 1)) {
			requests.forEach((request) -> {
				one(store).claim(request);
				// It opens the connections to the nodes.
				await().atMost(Duration.ofSeconds(30))
					.ignoreExceptions()
					.until(() -> one(store).complete(request, null), Settlement.SETTLED::equals);
			});
			RedisProcess lost = cluster.masterOf(TestRedis.name(requests.get(0).key()));
			lost.stop();
			assertThat(requests).allSatisfy((request) -> await().atMost(Duration.ofSeconds(30))
				.ignoreExceptions()
				.until(() -> one(store).claim(TestDatabase.request(request.key())), new Claim.Completed(null)::equals));
			lost.start();
			ClaimRequest again = TestDatabase.request(requests.get(0).key());
			await().atMost(Duration.ofSeconds(30))
				.ignoreExceptions()
				.until(() -> one(store).complete(requests.get(0), null), Settlement.SETTLED::equals);
			assertThat(one(store).claim(again)).isInstanceOf(Claim.Completed.class);
		}
	}

}
