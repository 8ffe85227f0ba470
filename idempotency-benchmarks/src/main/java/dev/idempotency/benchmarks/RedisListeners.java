/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStringCommands.SetOption;
import org.springframework.data.redis.core.types.Expiration;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * A protected handler that does nothing, and the minimum of bare commands as its limit.
 */
class RedisListeners {

	private static final Expiration RETENTION = Expiration.from(Duration.ofDays(7));

	private final RedisConnectionFactory connections;

	RedisListeners(RedisConnectionFactory connections) {
		this.connections = connections;
	}

	@BenchmarkListener(BenchmarkListener.LIMIT)
	void bareCommands(ConsumerRecord<String, String> record) {
		byte[] key = bytes("bare:" + Workload.key(record));
		try (RedisConnection connection = this.connections.getConnection()) {
			if (Workload.isDuplicate(record)) {
				check(connection.stringCommands().get(key) != null);
			}
			else {
				byte[] value = bytes(Workload.key(record));
				check(connection.stringCommands().set(key, value, RETENTION, SetOption.ifAbsent()));
				check(connection.stringCommands().set(key, value, RETENTION, SetOption.upsert()));
			}
		}
	}

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.LEASED)
	void protectedNothing(ConsumerRecord<String, String> record) {
	}

	private static void check(Boolean done) {
		if (!Boolean.TRUE.equals(done)) {
			throw new IllegalStateException("The key has an unexpected value");
		}
	}

	private static byte[] bytes(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

}
