/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.concurrent.atomic.AtomicLong;

import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;

/**
 * Counts requests of the SDK, including those that it repeats.
 */
final class DynamoDbRequests implements ExecutionInterceptor, RoundTrips {

	private final AtomicLong count = new AtomicLong();

	@Override
	public void beforeTransmission(Context.BeforeTransmission context, ExecutionAttributes attributes) {
		this.count.incrementAndGet();
	}

	@Override
	public void start() {
		this.count.set(0);
	}

	@Override
	public long stop() {
		return this.count.get();
	}

}
