/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.KafkaListenerErrorHandler;
import org.springframework.kafka.listener.ListenerExecutionFailedException;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.SendTo;
import org.springframework.resilience.annotation.EnableResilientMethods;
import org.springframework.resilience.annotation.Retryable;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link KafkaListenerErrorHandler}: it is not called for a blocked record.
 */
@Tag("promise-1")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ListenerErrorHandlerTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(Listeners.class, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "future", "mono", "retried", "batch" })
	void listenerErrorHandlerIsCalledForFailuresButNotForBlockedRecords(String name) {
		Servers.addTopics(1, this.app.name(name) + "-out");
		ClaimRequest other = this.app.hold(name, "a", Duration.ofMinutes(5));
		this.app.send(name, "a");
		this.app.start(name);
		this.app.awaitBlocked(name);
		one(this.app.store()).release(other);
		this.app.awaitDone(name);
		this.app.sendMore(name, "fails");
		this.app.awaitDone(name);
		Queue<String> handled = this.app.listeners(Answering.class).handled;
		assertThat(handled).filteredOn((text) -> text.startsWith(this.app.name(name)))
			.containsExactly(this.app.name(name) + " IllegalStateException");
		await().atMost(Duration.ofSeconds(20))
			.untilAsserted(() -> assertThat(Kafka.read(this.app.name(name) + "-out")).extracting(ConsumerRecord::value)
				.containsExactly("OK", "ERROR"));
	}

	@EnableResilientMethods
	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		@Bean
		static Answering answering() {
			return new Answering();
		}

		@Idempotent(scope = "${prefix}-record")
		@SendTo("${prefix}-record-out")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record", errorHandler = "answering")
		String record(String value) {
			return handle(value);
		}

		@Retryable(maxRetries = 1, delay = 1)
		@Idempotent(scope = "${prefix}-retried")
		@SendTo("${prefix}-retried-out")
		@KafkaListener(id = "${prefix}-retried", topics = "${prefix}-retried", errorHandler = "answering")
		String retried(String value) {
			return handle(value);
		}

		@Idempotent(scope = "${prefix}-future")
		@SendTo("${prefix}-future-out")
		@KafkaListener(id = "${prefix}-future", topics = "${prefix}-future", errorHandler = "answering")
		CompletableFuture<String> future(String value) {
			return CompletableFuture.completedFuture(value).thenApply(Listeners::handle);
		}

		@Idempotent(scope = "${prefix}-mono")
		@SendTo("${prefix}-mono-out")
		@KafkaListener(id = "${prefix}-mono", topics = "${prefix}-mono", errorHandler = "answering")
		Mono<String> mono(String value) {
			return Mono.just(value).map(Listeners::handle);
		}

		@Idempotent(scope = "${prefix}-batch")
		@SendTo("${prefix}-batch-out")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true", errorHandler = "answering")
		List<String> batch(List<String> values) {
			return values.stream().map(Listeners::handle).toList();
		}

		private static String handle(String value) {
			if (value.equals("fails")) {
				throw new IllegalStateException("fails");
			}
			return "OK";
		}

	}

	static class Answering implements KafkaListenerErrorHandler {

		private final Queue<String> handled = new ConcurrentLinkedQueue<>();

		@Override
		public Object handleError(Message<?> message, ListenerExecutionFailedException exception) {
			Object topic = message.getHeaders().get(KafkaHeaders.RECEIVED_TOPIC);
			this.handled.add(((topic instanceof List<?> topics) ? topics.get(0) : topic) + " "
					+ NestedExceptionUtils.getMostSpecificCause(exception).getClass().getSimpleName());
			return "ERROR";
		}

	}

}
