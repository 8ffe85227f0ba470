/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.testsupport.TestRedis;

/**
 * The contract of {@link RedisIdempotencyStore} on one server.
 */
class RedisStoreContractTests extends IdempotencyStoreContract {

	// Not closed: jqwik runs a part of the tests and does not call Jupiter's callbacks.
	private static final TestRedis redis = TestRedis.create();

	@Override
	public RedisIdempotencyStore store() {
		return redis.store();
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
