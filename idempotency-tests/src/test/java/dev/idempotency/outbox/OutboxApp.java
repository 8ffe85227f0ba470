/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Consumer;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.testsupport.TestApp;

/**
 * An application with an outbox that records the events of its relay.
 */
final class OutboxApp implements AutoCloseable {

	private final ConfigurableApplicationContext context;

	private final TransactionTemplate transactions;

	private OutboxApp(ConfigurableApplicationContext context) {
		this.context = context;
		this.transactions = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
	}

	static OutboxApp start(Consumer<TestApp> settings, Class<?>... configuration) {
		Class<?>[] classes = new Class<?>[configuration.length + 1];
		System.arraycopy(configuration, 0, classes, 0, configuration.length);
		classes[configuration.length] = Log.class;
		TestApp app = TestApp.of(classes).with("idempotency.outbox.enabled", true);
		settings.accept(app);
		return new OutboxApp(app.run());
	}

	ConfigurableApplicationContext context() {
		return this.context;
	}

	Outbox outbox() {
		return this.context.getBean(Outbox.class);
	}

	OutboxStore store() {
		return this.context.getBean(OutboxStore.class);
	}

	JdbcTemplate jdbc() {
		return this.context.getBean(JdbcTemplate.class);
	}

	void inTransaction(Runnable work) {
		this.transactions.executeWithoutResult((status) -> work.run());
	}

	void send(String topic, String key, String payload) {
		inTransaction(() -> outbox().send(topic, key, payload));
	}

	// Outcomes and idempotency keys, in the order of the events.
	Queue<String> events() {
		return this.context.getBean(Log.class).events;
	}

	@Override
	public void close() {
		this.context.close();
	}

	/**
	 * Records the events of the relay.
	 */
	static class Log implements OutboxObserver {

		private final Queue<String> events = new ConcurrentLinkedQueue<>();

		@Override
		public void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
			this.events.add(outcome + " " + row.idempotencyKey());
		}

		@Bean
		static OutboxObserver secondOneThatFails() {
			return new OutboxObserver() {

				@Override
				public void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
					throw new IllegalStateException("A failing listener");
				}

			};
		}

	}

}
