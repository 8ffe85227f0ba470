/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.sentinel.api.sync.RedisSentinelCommands;

import static org.awaitility.Awaitility.await;

/**
 * A master and a replica that three sentinels watch, which fail over when the master has
 * been silent for two seconds.
 */
public final class RedisSentinel implements AutoCloseable {

	public static final String MASTER = "mymaster";

	private static final int SENTINELS = 3;

	private static final Duration READY = Duration.ofSeconds(30);

	private final RedisProcess master = RedisProcess.create();

	private final RedisProcess replica = RedisProcess.create("--replicaof", this.master.host(),
			String.valueOf(this.master.port()));

	private final List<RedisProcess> sentinels;

	public RedisSentinel() {
		String configuration = """
				sentinel monitor %1$s 127.0.0.1 %2$d 2
				sentinel down-after-milliseconds %1$s 2000
				sentinel failover-timeout %1$s 3000
				""".formatted(MASTER, this.master.port());
		this.sentinels = IntStream.range(0, SENTINELS).mapToObj((i) -> RedisProcess.sentinel(configuration)).toList();
		try (RedisClient client = RedisClient.create()) {
			this.sentinels.forEach((sentinel) -> {
				RedisSentinelCommands<String, String> commands = client
					.connectSentinel(RedisURI.create(sentinel.host(), sentinel.port()))
					.sync();
				await().atMost(READY).until(() -> knowsAll(commands.master(MASTER)));
			});
		}
	}

	private static boolean knowsAll(Map<String, String> master) {
		return master.get("num-slaves").equals("1")
				&& master.get("num-other-sentinels").equals(String.valueOf(SENTINELS - 1));
	}

	public RedisProcess master() {
		return this.master;
	}

	public RedisProcess replica() {
		return this.replica;
	}

	public List<RedisProcess> sentinels() {
		return this.sentinels;
	}

	@Override
	public void close() {
		this.sentinels.forEach(RedisProcess::stop);
		this.replica.stop();
		this.master.stop();
	}

}
