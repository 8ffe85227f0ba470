/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.function.Function;

import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.MergedBeanDefinitionPostProcessor;
import org.springframework.beans.factory.support.RootBeanDefinition;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.cloud.stream.config.ConsumerEndpointCustomizer;
import org.springframework.cloud.stream.config.ListenerContainerCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;

import dev.idempotency.Idempotent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for idempotent functions beside the customizers of the application and with the
 * Kafka transactions of the binder.
 */
class FunctionCustomizersTests {

	private static final List<String> CALLS = new CopyOnWriteArrayList<>();

	@Test
	void customizersOfTheApplicationAreCalledAndKafkaTransactionsCompleteTheKeys() {
		String id = UUID.randomUUID().toString();
		try (StreamApp app = StreamApp.start(Functions.class, StreamApp.bindings("transactional"),
				"spring.cloud.stream.bindings.transactional-out-0.destination=transactional-out",
				"spring.cloud.stream.kafka.binder.transaction.transaction-id-prefix=tx-",
				"spring.cloud.stream.kafka.binder.required-acks=all")) {
			assertThat(app.bean(Functions.class).customized).containsExactlyInAnyOrder("container transactional",
					"endpoint transactional");
			app.claim("test/transactional", id);
			StreamApp.send("transactional", id, id);
			StreamApp.send("transactional", id, id);
			assertThat(StreamApp.read("transactional-out", 1, Duration.ofMillis(500))).isEmpty();
			assertThat(StreamApp.read("transactional-out", 2)).containsExactly("1 " + id, "1 " + id);
			await().untilAsserted(() -> assertThat(CALLS).containsExactly(id, id));
		}
	}

	// The function that another post-processor has wrapped must not lose its protection.
	@Test
	void functionThatIsWrappedAfterwardsIsProtected() {
		String id = UUID.randomUUID().toString();
		try (StreamApp app = StreamApp.start(Wrapped.class, StreamApp.bindings("wrapped"))) {
			StreamApp.send("wrapped", id, id);
			StreamApp.send("wrapped", id, id);
			StreamApp.send("wrapped", "end-" + id, "end-" + id);
			List<String> calls = app.bean(Wrapped.class).calls;
			await().until(() -> calls.contains("end-" + id));
			assertThat(calls).containsExactly(id, "end-" + id);
		}
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Wrapped {

		private final List<String> calls = new CopyOnWriteArrayList<>();

		@Bean
		@Idempotent
		Consumer<String> wrapped() {
			return this.calls::add;
		}

		@Bean
		static Wrapper wrapper() {
			return new Wrapper();
		}

	}

	/**
	 * A post-processor of the last kind that is called.
	 */
	static class Wrapper implements MergedBeanDefinitionPostProcessor {

		@Override
		public void postProcessMergedBeanDefinition(RootBeanDefinition definition, Class<?> type, String name) {
			// It only wraps.
		}

		@Override
		@SuppressWarnings("unchecked")
		public Object postProcessAfterInitialization(Object bean, String name) {
			return name.equals("wrapped") ? (Consumer<String>) (text) -> ((Consumer<String>) bean).accept(text) : bean;
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Functions {

		private final List<String> customized = new CopyOnWriteArrayList<>();

		// The first attempt fails, so that its transaction is rolled back.
		@Bean
		@Idempotent
		Function<String, String> transactional() {
			return (text) -> {
				CALLS.add(text);
				if (CALLS.size() == 1) {
					throw new IllegalStateException("failed");
				}
				return CALLS.size() - 1 + " " + text;
			};
		}

		@Bean
		ListenerContainerCustomizer<AbstractMessageListenerContainer<?, ?>> containers() {
			return (container, destination, group) -> this.customized.add("container " + destination);
		}

		@Bean
		ConsumerEndpointCustomizer<KafkaMessageDrivenChannelAdapter<?, ?>> endpoints() {
			return (adapter, destination, group) -> this.customized.add("endpoint " + destination);
		}

	}

}
