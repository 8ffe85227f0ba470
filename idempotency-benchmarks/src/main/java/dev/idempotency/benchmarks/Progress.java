/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.concurrent.atomic.AtomicInteger;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.kafka.listener.RecordInterceptor;

/**
 * Reports the number of records that a consumer has received, so that it can be killed
 * while it is working.
 */
final class Progress implements RecordInterceptor<Object, Object> {

	private static final int STEP = 50;

	private final AtomicInteger received = new AtomicInteger();

	@Override
	public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
			Consumer<Object, Object> consumer) {
		int count = this.received.incrementAndGet();
		if (count % STEP == 0) {
			PeerApplication.answer("received " + count);
		}
		return record;
	}

}
