/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.net.SocketAddress;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;

import io.lettuce.core.metrics.CommandLatencyRecorder;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolKeyword;
import org.springframework.boot.data.redis.autoconfigure.ClientResourcesBuilderCustomizer;
import org.springframework.context.annotation.Bean;

/**
 * Counts the commands of the client of the application. Commands that are sent together
 * count separately.
 */
final class RedisCommands implements RoundTrips, CommandLatencyRecorder {

	// Those for a record.
	private static final Set<ProtocolKeyword> OF_RECORDS = Set.of(CommandType.EVALSHA, CommandType.EVAL,
			CommandType.WAIT, CommandType.GET, CommandType.SET);

	private final AtomicLong count = new AtomicLong();

	@Override
	public void recordCommandLatency(SocketAddress local, SocketAddress remote, ProtocolKeyword command,
			long firstResponse, long completion) {
		if (OF_RECORDS.contains(command)) {
			this.count.incrementAndGet();
		}
	}

	@Override
	public void start() {
		this.count.set(0);
	}

	@Override
	public long stop() {
		return this.count.get();
	}

	/**
	 * For an application that is not timed, because counting takes time.
	 */
	static class Configuration {

		@Bean
		RedisCommands redisCommands() {
			return new RedisCommands();
		}

		@Bean
		ClientResourcesBuilderCustomizer redisCommandsCustomizer(RedisCommands commands) {
			return (resources) -> resources.commandLatencyRecorder(commands);
		}

	}

}
