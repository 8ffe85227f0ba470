/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.testsupport.TestApp;

/**
 * An application whose listener is reconciled.
 */
@Configuration(proxyBeanMethods = false)
@Import(ReconciledApp.Ledger.class)
public class ReconciledApp {

	public static void main(String[] arguments) {
		SpringApplication.run(new Class<?>[] { TestApp.Base.class, ReconciledApp.class }, arguments);
	}

	@Bean
	CommonErrorHandler errorHandler() {
		return new DefaultErrorHandler(new FixedBackOff(0, 0));
	}

	@Bean
	ApplicationRunner runner() {
		return (arguments) -> System.out.println("runner");
	}

	static class Ledger {

		final List<String> calls = new CopyOnWriteArrayList<>();

		@Idempotent(fingerprint = "#payload", lease = "5s")
		@KafkaListener(id = "ledger", topics = "${topic}", groupId = "${topic}", autoStartup = "true")
		void charge(String amount) {
			System.out.println("charging");
			this.calls.add(amount);
			if (amount.equals("4711")) {
				throw new IllegalStateException("card 4711");
			}
			if (amount.equals("refuse")) {
				throw new OperationDeclinedException("limit");
			}
		}

	}

}
