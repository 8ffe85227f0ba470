/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.concurrent.CompletableFuture;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.store.IdempotencyRecord.State;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for a container factory of the application with an advice chain: the advice runs
 * once for each delivery, outside.
 */
@Tag("promise-13")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class AdviceChainTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listeners.class, Factories.class }, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@Test
	void adviceRunsOnceForEachRecord() {
		assertThat(seen("record", "a a heals b")).containsExactly("a", "heals", "heals", "b");
		assertThat(log("advice record")).containsExactly("a", "a", "heals", "heals", "b");
		assertThat(this.app.record("record", "heals").state()).isEqualTo(State.COMPLETED);
	}

	@Test
	void adviceRunsOnceForEachBatch() {
		assertThat(seen("batch", "a a b")).containsExactly("a b");
		assertThat(log("advice batch")).containsExactly("a a b");
	}

	@Test
	@Tag("promise-1")
	void futureThatFailsIsRetried() {
		// It is the last one: Spring Kafka delivers nothing of a later poll once a future
		// is retried.
		seen("future", "a b heals");
		await().untilAsserted(() -> assertThat(this.app.record("future", "heals").state()).isEqualTo(State.COMPLETED));
		assertThat(log("future")).containsExactly("a", "b", "heals", "heals");
		assertThat(log("advice future")).containsExactly("a", "b", "heals", "heals");
	}

	private List<String> seen(String name, String letters) {
		this.app.send(name, letters);
		this.app.start(name);
		this.app.awaitDone(name);
		return log(name);
	}

	private List<String> log(String name) {
		return List.copyOf(this.app.listeners(InterceptionLog.class).of(name));
	}

	@Configuration(proxyBeanMethods = false)
	@Import(InterceptionLog.class)
	static class Factories {

		@Bean
		ConcurrentKafkaListenerContainerFactory<Object, Object> advised(ConsumerFactory<Object, Object> consumers,
				InterceptionLog log) {
			ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
			factory.setConsumerFactory(consumers);
			factory.setAutoStartup(false);
			factory.setCommonErrorHandler(new DefaultErrorHandler(new FixedBackOff(0, 2)));
			MethodInterceptor advice = (invocation) -> {
				tell(invocation, log);
				return invocation.proceed();
			};
			factory.getContainerProperties().setAdviceChain(advice);
			return factory;
		}

		private static void tell(MethodInvocation invocation, InterceptionLog log) {
			if (!invocation.getMethod().getName().equals("onMessage")) {
				return;
			}
			Object delivered = invocation.getArguments()[0];
			List<?> records = (delivered instanceof List<?> list) ? list : List.of(delivered);
			List<String> values = records.stream()
				.map((one) -> String.valueOf(((ConsumerRecord<?, ?>) one).value()))
				.toList();
			String topic = ((ConsumerRecord<?, ?>) records.get(0)).topic();
			log.of("advice " + topic.replaceFirst(".*-", "")).add(String.join(" ", values));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final InterceptionLog log;

		Listeners(InterceptionLog log) {
			this.log = log;
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record", containerFactory = "advised")
		void record(String value) {
			if (fails("record", value)) {
				throw new IllegalStateException("fails");
			}
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", containerFactory = "advised", batch = "true")
		void batch(List<String> values) {
			this.log.of("batch").add(String.join(" ", values));
		}

		@Idempotent(scope = "${prefix}-future")
		@KafkaListener(id = "${prefix}-future", topics = "${prefix}-future", containerFactory = "advised")
		CompletableFuture<Void> future(String value) {
			return fails("future", value) ? CompletableFuture.failedFuture(new IllegalStateException("fails"))
					: CompletableFuture.completedFuture(null);
		}

		private boolean fails(String name, String value) {
			boolean first = !this.log.of(name).contains(value);
			this.log.of(name).add(value);
			return first && value.equals("heals");
		}

	}

}
