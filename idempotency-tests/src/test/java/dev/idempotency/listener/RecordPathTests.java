/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.lang.StackWalker.Option;
import java.lang.StackWalker.StackFrame;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import javax.sql.DataSource;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.listener.delivery.DeliveryListener;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the path of a single record from the listener of the container to its first
 * SQL statement. It must pass few types, so that a reader can follow it.
 */
class RecordPathTests {

	// Without the listener of the container, with the statement.
	private static final int MAX_TYPES = 9;

	private final ApplicationContextRunner runner = Contexts.all().withUserConfiguration(Listeners.class);

	@ParameterizedTest
	@ValueSource(strings = { "transactional", "leased" })
	void recordPassesAtMostNineTypesBeforeItsClaim(String listener) {
		this.runner.run((context) -> {
			deliver(context.getBean(KafkaListenerEndpointRegistry.class), listener);
			Set<String> types = context.getBean(ClaimPath.class).types;
			assertThat(types.remove(DeliveryListener.class.getName())).isTrue();
			assertThat(types).anyMatch((type) -> type.startsWith("dev.idempotency.jdbc."))
				.hasSizeLessThanOrEqualTo(MAX_TYPES);
		});
	}

	@SuppressWarnings("unchecked")
	private static void deliver(KafkaListenerEndpointRegistry registry, String listener) {
		MessageListener<String, String> target = (MessageListener<String, String>) registry
			.getListenerContainer(listener)
			.getContainerProperties()
			.getMessageListener();
		ConsumerRecord<String, String> record = new ConsumerRecord<>(listener, 0, 0, null, "value");
		record.headers().add("Idempotency-Key", UUID.randomUUID().toString().getBytes());
		target.onMessage(record, null, null);
	}

	/**
	 * Records the types on the stack of the first statement that claims a key.
	 */
	static class ClaimPath implements BeanPostProcessor {

		private final Set<String> types = new LinkedHashSet<>();

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			return (bean instanceof DataSource dataSource) ? new DelegatingDataSource(dataSource) {

				@Override
				public Connection getConnection() throws SQLException {
					return recording(super.getConnection());
				}

			} : bean;
		}

		private Connection recording(Connection connection) {
			return (Connection) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { Connection.class },
					(proxy, method, arguments) -> {
						if (method.getName().equals("prepareStatement")) {
							record(String.valueOf(arguments[0]));
						}
						try {
							return method.invoke(connection, arguments);
						}
						catch (InvocationTargetException ex) {
							throw ex.getCause();
						}
					});
		}

		private void record(String sql) {
			if (this.types.isEmpty() && sql.contains(TestDatabase.TABLE)) {
				List<Class<?>> stack = StackWalker.getInstance(Option.RETAIN_CLASS_REFERENCE)
					.walk((frames) -> frames.<Class<?>>map(StackFrame::getDeclaringClass).toList());
				if (stack.stream().anyMatch(DeliveryListener.class::isAssignableFrom)) {
					stack.stream()
						.map(ClaimPath::topLevel)
						.filter((type) -> type.getName().startsWith("dev.idempotency.")
								&& !type.getName().contains("RecordPathTests"))
						.forEach((type) -> this.types.add(type.getName()));
				}
			}
		}

		private static Class<?> topLevel(Class<?> type) {
			return (type.getNestHost() != type) ? type.getNestHost() : type;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		@Bean
		static ClaimPath claimPath() {
			return new ClaimPath();
		}

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(id = "transactional", topics = "transactional")
		void transactional(String value) {
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(id = "leased", topics = "leased")
		void leased(String value) {
		}

	}

}
