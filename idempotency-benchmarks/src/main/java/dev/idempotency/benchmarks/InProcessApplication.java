/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyStore;

/**
 * An application with the same listener unprotected and protected, and a store that does
 * nothing.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
class InProcessApplication {

	@Bean
	IdempotencyStore store(InProcessBenchmark.Delivery delivery) {
		return new NoOpStore(delivery == InProcessBenchmark.Delivery.DUPLICATE);
	}

	@Bean
	Unprotected unprotectedListener() {
		return new Unprotected();
	}

	@Bean
	Protected protectedListener() {
		return new Protected();
	}

	/**
	 * The unprotected listener.
	 */
	static class Unprotected {

		private int length;

		@KafkaListener(id = BenchmarkListener.LIMIT, topics = "none", autoStartup = "false")
		void handle(String payload) {
			this.length += payload.length();
		}

	}

	/**
	 * The protected listener.
	 */
	static class Protected {

		private int length;

		@KafkaListener(id = BenchmarkListener.PROTECTED, topics = "none", autoStartup = "false")
		@Idempotent(mode = Mode.LEASED)
		void handle(String payload) {
			this.length += payload.length();
		}

	}

}
