/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.testsupport.TestApp;

/**
 * A consumer that stops at one point of the handling of its first records, so that its
 * process can be killed there. The process has an application for each
 * {@link CrashShape}.
 */
@Configuration(proxyBeanMethods = false)
public class CrashingApp {

	static final String PROCESSED = "PROCESSED ";

	static final String AFTER_COMPLETION = "leased-after-completion";

	static final String OUTBOX = "outbox-published";

	public static void main(String[] args) {
		// All other settings are system properties of the process.
		for (CrashShape shape : CrashShape.values()) {
			new SpringApplicationBuilder(TestApp.Base.class, CrashingApp.class, shape.listeners())
				.run(shape.settings().map((setting) -> "--" + setting).toArray(String[]::new));
		}
	}

	@Bean
	static CrashPoint crashPoint(@Value("${shape}") CrashShape shape, @Value("${crash:false}") boolean active) {
		return new CrashPoint(shape, active);
	}

	@Bean
	static CrashEffects crashEffects(JdbcTemplate jdbc) {
		return new CrashEffects(jdbc);
	}

	@Bean
	static OperationObserver afterCompletion(CrashPoint crashPoint, @Value("${shape}") CrashShape shape) {
		return new OperationObserver() {

			@Override
			public void handled(HandledOperation execution) {
				IdempotencyKey key = execution.key();
				if (execution.outcome() != Outcome.PROCESSED || key == null) {
					return;
				}
				crashPoint.say(PROCESSED + key.scope() + " " + key.value());
				if (key.scope().equals(AFTER_COMPLETION) && key.value().equals(shape.lastCompleted())) {
					crashPoint.reach(AFTER_COMPLETION);
				}
			}

		};
	}

}
