/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Properties;
import java.util.Set;

import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Counts commands by the statistics of the server. These include the commands that
 * scripts run inside the server, which are not round trips. If there are scripts, only
 * the scripts are counted.
 */
final class RedisCommands implements RoundTrips {

	private static final String PREFIX = "cmdstat_";

	private static final Set<String> SCRIPTS = Set.of("cmdstat_eval", "cmdstat_evalsha", "cmdstat_fcall");

	// A separate connection, which no listener uses.
	private static final Set<String> OTHERS = Set.of("cmdstat_info", "cmdstat_config", "cmdstat_hello",
			"cmdstat_client", "cmdstat_ping");

	private final RedisConnectionFactory connections;

	RedisCommands(RedisConnectionFactory connections) {
		this.connections = connections;
	}

	@Override
	public void start() {
		try (RedisConnection connection = this.connections.getConnection()) {
			connection.serverCommands().resetConfigStats();
		}
	}

	@Override
	public long stop() {
		try (RedisConnection connection = this.connections.getConnection()) {
			Properties statistics = connection.serverCommands().info("commandstats");
			if (statistics == null) {
				throw new IllegalStateException("Redis returned no command statistics");
			}
			long scripts = calls(statistics, true);
			return (scripts > 0) ? scripts : calls(statistics, false);
		}
	}

	private static long calls(Properties statistics, boolean scripts) {
		return statistics.stringPropertyNames()
			.stream()
			.filter((name) -> name.startsWith(PREFIX) && !OTHERS.contains(name))
			.filter((name) -> SCRIPTS.contains(name) == scripts)
			.mapToLong((name) -> calls(statistics.getProperty(name)))
			.sum();
	}

	// calls=21,usec=175,...
	private static long calls(String statistics) {
		return Long.parseLong(statistics.substring(statistics.indexOf('=') + 1, statistics.indexOf(',')));
	}

}
