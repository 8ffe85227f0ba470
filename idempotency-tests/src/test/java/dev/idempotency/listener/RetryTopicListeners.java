/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Kafka;

/**
 * Listeners with retry topics, whose containers have groups with and without a suffix.
 */
@Configuration(proxyBeanMethods = false)
@Import({ RetryTopicListeners.Seen.class, RetryTopicListeners.WithDeadLetterHandler.class })
class RetryTopicListeners {

	private final Seen seen;

	RetryTopicListeners(Seen seen) {
		this.seen = seen;
	}

	@Idempotent(mode = Mode.LEASED)
	@RetryableTopic(backOff = @BackOff(delay = 200))
	@KafkaListener(id = "explicit", topics = "${prefix}-explicit", groupId = "${prefix}-explicit")
	void explicit(ConsumerRecord<String, String> record) {
		this.seen.handle("explicit", record);
	}

	@Idempotent
	@RetryableTopic(backOff = @BackOff(delay = 200))
	@KafkaListener(topics = "${prefix}-inherited")
	void inherited(ConsumerRecord<String, String> record) {
		this.seen.handle("inherited", record);
	}

	@DltHandler
	void dead(ConsumerRecord<String, String> record) {
		this.seen.add("none", record);
	}

	// Another owner claims the key between two attempts and crashes.
	@Bean
	static OperationObserver holder(JdbcTemplate jdbc, Seen seen) {
		return new OperationObserver() {

			@Override
			public void handled(HandledOperation execution) {
				if (execution.key() == null || !execution.key().value().startsWith("held")) {
					return;
				}
				if (execution.outcome() == Outcome.IN_PROGRESS) {
					seen.waited.add(execution.key().value());
					CrashedOwner.endLease(jdbc, execution.key());
				}
				else if (execution.outcome() == Outcome.FAILED) {
					CrashedOwner.claim(jdbc, execution.key());
				}
			}

		};
	}

	static class WithDeadLetterHandler {

		private final Seen seen;

		WithDeadLetterHandler(Seen seen) {
			this.seen = seen;
		}

		@Idempotent
		@RetryableTopic(attempts = "2", backOff = @BackOff(delay = 200))
		@KafkaListener(id = "buried", topics = "${prefix}-buried", groupId = "${prefix}-buried")
		void buried(ConsumerRecord<String, String> record) {
			this.seen.handle("buried", record);
		}

		@Idempotent
		@DltHandler
		void dead(ConsumerRecord<String, String> record) {
			this.seen.add("buried", record);
		}

	}

	/**
	 * The topics on which a record was handled, and the number of the attempt.
	 */
	static class Seen {

		final Set<String> waited = ConcurrentHashMap.newKeySet();

		private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

		Queue<String> of(String key) {
			return this.runs.computeIfAbsent(key, (name) -> new ConcurrentLinkedQueue<>());
		}

		void handle(String listener, ConsumerRecord<String, String> record) {
			add(listener, record);
			boolean first = IdempotentExecution.current().attempt() == 1;
			if (record.value().equals("dead") || (first && record.value().equals("heals"))) {
				throw new IllegalStateException("fails");
			}
		}

		void add(String listener, ConsumerRecord<String, String> record) {
			IdempotentExecution execution = listener.equals("none") ? null : IdempotentExecution.current();
			of(key(record, listener))
				.add(record.topic() + ((execution != null) ? " " + execution.attempt() : " unprotected"));
		}

		static String key(ConsumerRecord<String, String> record, String listener) {
			Header header = record.headers().lastHeader(Kafka.KEY_HEADER);
			return (header != null) ? new String(header.value(), StandardCharsets.UTF_8) : listener;
		}

	}

}
