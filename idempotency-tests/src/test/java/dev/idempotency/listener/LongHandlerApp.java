/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.LockSupport;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.testsupport.TestApp;

/**
 * A consumer whose handler either returns at once or runs until it has lost its key.
 */
@Configuration(proxyBeanMethods = false)
public class LongHandlerApp {

	public static void main(String[] args) {
		new SpringApplication(TestApp.Base.class, LongHandlerApp.class).run(args);
	}

	@Bean
	static LongListener longListener(@Value("${role}") String role) {
		return new LongListener(role);
	}

	@Bean
	static OperationObserver outcomes(LongListener listener) {
		return new OperationObserver() {

			@Override
			public void handled(HandledOperation execution) {
				listener.tell("OUTCOME " + execution.outcome());
			}

		};
	}

	/**
	 * The listener.
	 */
	static class LongListener {

		private final String role;

		private final Queue<Integer> fences = new ConcurrentLinkedQueue<>();

		LongListener(String role) {
			this.role = role;
		}

		@Idempotent(mode = Mode.LEASED, scope = "${topic}", lease = "${lease}")
		@KafkaListener(topics = "${topic}", groupId = "${group}")
		String handle(String value) {
			IdempotentExecution execution = IdempotentExecution.current();
			this.fences.add(execution.fence());
			tell("RUNNING " + execution.fence());
			while (isOwner() && !execution.ownershipLost()) {
				LockSupport.parkNanos(10_000_000);
			}
			tell("OWNERSHIP LOST " + execution.ownershipLost());
			return this.role;
		}

		private boolean isOwner() {
			return this.role.equals("owner");
		}

		// Read by the process that started this one.
		void tell(String line) {
			if (isOwner()) {
				System.out.println(line);
			}
		}

		Queue<Integer> fences() {
			return this.fences;
		}

	}

}
