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

/**
 * A protected handler that does nothing, and a listener that does nothing as its limit.
 */
class EmptyListeners {

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.LEASED)
	void protectedNothing(ConsumerRecord<String, String> record) {
	}

	/**
	 * The limit, in a separate bean that is not proxied.
	 */
	static class Limit {

		@BenchmarkListener(BenchmarkListener.LIMIT)
		void nothing(ConsumerRecord<String, String> record) {
		}

	}

}
