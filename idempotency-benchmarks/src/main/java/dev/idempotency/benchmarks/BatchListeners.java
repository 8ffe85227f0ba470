/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * Handlers that do nothing, one for batches and one for single records.
 */
class BatchListeners {

	@BenchmarkListener(BenchmarkListener.LIMIT)
	@Idempotent(mode = Mode.LEASED)
	void single(ConsumerRecord<String, String> record) {
	}

	@BenchmarkListener(value = BenchmarkListener.PROTECTED, batch = "true")
	@Idempotent(mode = Mode.LEASED)
	void batch(List<ConsumerRecord<String, String>> records) {
	}

}
