/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.testsupport.RedisCluster;
import dev.idempotency.testsupport.RedisProcess;
import dev.idempotency.testsupport.TestRedis;

/**
 * The contract of {@link RedisIdempotencyStore} on a cluster.
 */
class RedisClusterStoreContractTests extends IdempotencyStoreContract {

	// Not closed: jqwik runs a part of the tests and does not call Jupiter's callbacks.
	private static final LettuceConnectionFactory factory = start();

	private static final RedisIdempotencyStore store = TestRedis.store(factory, 0);

	static {
		TestRedis.awaitContact(store);
	}

	// Shared with the contract of the records, because six servers start slowly.
	static LettuceConnectionFactory factory() {
		return factory;
	}

	private static LettuceConnectionFactory start() {
		RedisClusterConfiguration configuration = new RedisClusterConfiguration();
		for (RedisProcess node : new RedisCluster().nodes()) {
			configuration.clusterNode(node.host(), node.port());
		}
		return TestRedis.started(new LettuceConnectionFactory(configuration));
	}

	@Override
	public RedisIdempotencyStore store() {
		return store;
	}

	// The server computes the end of the retention from two clocks in milliseconds.
	@Override
	public Duration precision() {
		return Duration.ofMillis(2);
	}

	// A busy server may pause between reading one clock and the other.
	@Override
	public Duration precisionOfTheEnd() {
		return TestRedis.PRECISION_OF_THE_END;
	}

}
