/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.io.UncheckedIOException;
import java.util.List;
import java.util.stream.Collectors;

import org.awaitility.Awaitility;

import dev.idempotency.testsupport.RedisCluster;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.RedisSentinel;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A master of Redis that is killed, and whose replica is promoted. Keys that the replica
 * has not received are forgotten.
 */
abstract class RedisFailure implements Failure {

	// The replica usually lags by milliseconds. A busy machine needs more.
	private static final long TOLERANCE = 2000;

	private long killed;

	private long replaced;

	abstract RedisProcess master();

	abstract RedisProcess replica();

	void replaced() {
	}

	static String nodes(List<RedisProcess> servers) {
		return servers.stream().map((server) -> server.host() + ":" + server.port()).collect(Collectors.joining(","));
	}

	static void awaitAnswer(RedisProcess server, String command, String answer) {
		Awaitility.await()
			.atMost(TrialRun.PATIENCE)
			.ignoreExceptionsInstanceOf(UncheckedIOException.class)
			.until(() -> server.ask(command).contains(answer));
	}

	@Override
	public long happen(TrialRun run, String group) {
		this.killed = System.currentTimeMillis();
		master().stop();
		awaitAnswer(replica(), "INFO replication", "role:master");
		replaced();
		this.replaced = System.currentTimeMillis();
		return this.killed;
	}

	@Override
	public void check(PaymentTraffic traffic, TimedCharges once, TimedCharges all) {
		assertThat(once.lost(traffic.keys())).as("lost").isEmpty();
		assertThat(all.unexplained((charge) -> charge > this.killed - TOLERANCE && charge < this.replaced + TOLERANCE))
			.as("doubled, but not charged at the failover")
			.isEmpty();
	}

	/**
	 * A master and a replica that sentinels watch.
	 */
	static final class Sentinel extends RedisFailure {

		private final RedisSentinel servers = new RedisSentinel();

		private final int replicas;

		// Keys are completed when so many replicas have confirmed it.
		Sentinel(int replicas) {
			this.replicas = replicas;
		}

		@Override
		RedisProcess master() {
			return this.servers.master();
		}

		@Override
		RedisProcess replica() {
			return this.servers.replica();
		}

		@Override
		public TestApp configure(TestApp app) {
			return app.redis(master())
				.with("spring.data.redis.sentinel.master", RedisSentinel.MASTER)
				.with("spring.data.redis.sentinel.nodes", nodes(this.servers.sentinels()))
				.with("idempotency.redis.replicas", this.replicas);
		}

		// Without a replica, nothing could be confirmed. The old master may return when
		// all sentinels know the new one.
		@Override
		void replaced() {
			if (this.replicas > 0) {
				this.servers.sentinels()
					.forEach((sentinel) -> awaitAnswer(sentinel,
							"SENTINEL get-master-addr-by-name " + RedisSentinel.MASTER,
							String.valueOf(replica().port())));
				master().start();
				awaitAnswer(replica(), "INFO replication", "state=online");
			}
		}

		@Override
		public void close() {
			this.servers.close();
		}

	}

	/**
	 * Three masters with a replica each, of which one is killed.
	 */
	static final class Cluster extends RedisFailure {

		private final RedisCluster servers = new RedisCluster();

		@Override
		RedisProcess master() {
			return this.servers.nodes().get(0);
		}

		@Override
		RedisProcess replica() {
			return this.servers.nodes().get(this.servers.nodes().size() / 2);
		}

		@Override
		public TestApp configure(TestApp app) {
			return app.redis(master()).with("spring.data.redis.cluster.nodes", nodes(this.servers.nodes()));
		}

		@Override
		public void close() {
			this.servers.close();
		}

	}

}
