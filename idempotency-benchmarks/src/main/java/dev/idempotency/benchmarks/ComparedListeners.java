/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import org.apache.kafka.clients.consumer.ConsumerRecord;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.OtherContentPolicy;

/**
 * Handlers that do nothing, with and without the comparison of the contents of
 * duplicates.
 */
class ComparedListeners {

	@BenchmarkListener(BenchmarkListener.LIMIT)
	@Idempotent(mode = Mode.LEASED, onOtherContent = OtherContentPolicy.IGNORE)
	void withoutComparison(ConsumerRecord<String, String> record) {
	}

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.LEASED)
	void withComparison(ConsumerRecord<String, String> record) {
	}

}
