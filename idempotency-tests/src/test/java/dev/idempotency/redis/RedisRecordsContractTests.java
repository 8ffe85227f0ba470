/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;

import dev.idempotency.contract.IdempotencyRecordsContract;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestRedis;

/**
 * The contract of {@link RedisIdempotencyStore} for operators on one server.
 */
class RedisRecordsContractTests extends IdempotencyRecordsContract {

	// With glob characters, which a scan must escape.
	private static final RedisIdempotencyStore store = new RedisIdempotencyStore(TestRedis.factory(Servers.redis()),
			"records:[a]*?", 0, TestRedis.TIMEOUT);

	static {
		TestRedis.awaitContact(store);
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
