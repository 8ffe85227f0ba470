/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.MethodKafkaListenerEndpoint;
import org.springframework.messaging.handler.annotation.support.DefaultMessageHandlerMethodFactory;
import org.springframework.test.util.AopTestUtils;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.store.ClaimRequest;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for endpoints that the application creates itself and registers after its start.
 */
@Tag("promise-12")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LateListenerTests {

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(new Class<?>[] { Listener.class, Registrar.class }, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "batch" })
	void listenerIsProtected(String name) {
		ClaimRequest other = this.app.hold(name, "b", Duration.ofMinutes(5));
		this.app.send(name, "a a b c b", "x");
		this.app.listeners(Registrar.class).register(this.app.name(name), name, name.equals("batch"), false);
		Queue<String> seen = this.app.listeners(Listener.class).seen(name);
		await().atMost(Duration.ofSeconds(20)).until(() -> this.app.lag(name) == 3);
		assertThat(seen).containsExactlyInAnyOrder("a", "x");
		one(this.app.store()).release(other);
		this.app.awaitDone(name);
		assertThat(seen).hasSize(4).endsWith("b", "c");
	}

	@Test
	void beanThatIsNotAProxyIsRefused() {
		Registrar registrar = this.app.listeners(Registrar.class);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> registrar.register(this.app.name("raw"), "record", false, true))
			.withMessage("The idempotent listener LateListenerTests.Listener.record cannot be protected: its bean is "
					+ "not a Spring proxy.");
	}

	@Configuration(proxyBeanMethods = false)
	static class Listener {

		private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

		Queue<String> seen(String name) {
			return this.seen.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

		@Idempotent(scope = "${prefix}-record")
		void record(String value) {
			seen("record").add(value);
		}

		@Idempotent(scope = "${prefix}-batch")
		void batch(List<String> value) {
			seen("batch").addAll(value);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Registrar {

		private final KafkaListenerEndpointRegistry registry;

		private final ConcurrentKafkaListenerContainerFactory<?, ?> factory;

		private final Listener listener;

		Registrar(KafkaListenerEndpointRegistry registry, ConcurrentKafkaListenerContainerFactory<?, ?> factory,
				Listener listener) {
			this.registry = registry;
			this.factory = factory;
			this.listener = listener;
		}

		void register(String id, String method, boolean batch, boolean raw) {
			DefaultMessageHandlerMethodFactory methods = new DefaultMessageHandlerMethodFactory();
			methods.afterPropertiesSet();
			MethodKafkaListenerEndpoint<String, String> endpoint = new MethodKafkaListenerEndpoint<>();
			endpoint.setId(id);
			endpoint.setGroupId(id);
			endpoint.setTopics(id);
			endpoint.setBatchListener(batch);
			endpoint.setBean(raw ? AopTestUtils.getTargetObject(this.listener) : this.listener);
			endpoint.setMethod(ReflectionUtils.findMethod(Listener.class, method, batch ? List.class : String.class));
			endpoint.setMessageHandlerMethodFactory(methods);
			this.registry.registerListenerContainer(endpoint, this.factory, true);
		}

	}

}
