/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Map;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.boot.test.context.assertj.AssertableApplicationContext;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.context.runner.ContextConsumer;
import org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.KafkaListenerConfigurer;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpointRegistrar;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.MethodKafkaListenerEndpoint;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.messaging.handler.annotation.support.DefaultMessageHandlerMethodFactory;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.Idempotent;
import dev.idempotency.listener.delivery.DeliveryListener;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.testsupport.Contexts;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@code ListenerRegistryPostProcessor}: a listener is protected or refused,
 * however it is registered.
 */
@Tag("promise-12")
class ListenerRegistrationTests {

	private final ApplicationContextRunner runner = Contexts.inMemory();

	@Test
	void listenerIsProtected() {
		this.runner.withUserConfiguration(Listener.class).run(isProtected());
	}

	@Test
	void listenerIsProtectedWithoutAopAutoConfiguration() {
		withoutProxyCreator().withUserConfiguration(Listener.class).run(isProtected());
	}

	@Test
	void listenerWithoutInterfaceIsProtectedWithInterfaceProxies() {
		this.runner.withPropertyValues("spring.aop.proxy-target-class=false")
			.withUserConfiguration(Listener.class)
			.run(isProtected());
	}

	@Test
	void listenerWithInterfaceIsProtectedWithoutAopAutoConfiguration() {
		withoutProxyCreator().withUserConfiguration(RunnableListener.class).run(isProtected());
	}

	@Test
	void listenerIsProtectedWithOwnEnableKafkaNextToBoot() {
		this.runner.withUserConfiguration(OwnKafka.class, Listener.class).run(isProtected());
	}

	@Test
	void listenerIsProtectedWithOwnEnableKafkaInsteadOfBoot() {
		Contexts.without(KafkaAutoConfiguration.class)
			.withUserConfiguration(OwnKafka.class, Listener.class)
			.run(isProtected());
	}

	@Test
	void listenerIsProtectedWithOwnEnableKafkaAfterIt() {
		Contexts.without(KafkaAutoConfiguration.class)
			.withUserConfiguration(Listener.class, OwnKafka.class)
			.run(isProtected());
	}

	@Test
	void listenerThatPostProcessorNeedsIsProtected() {
		this.runner.withUserConfiguration(Listener.class, NeedsListener.class).run(isProtected());
	}

	@Test
	void registeredListenerThatFactoryPostProcessorNeedsIsRefused() {
		FailureAnalysis analysis = Contexts
			.failure(this.runner.withUserConfiguration(Listener.class, EarlyListener.class, SelfRegistered.class));
		assertThat(analysis.getDescription()).isEqualTo("The idempotent listener ListenerRegistrationTests.Listener."
				+ "listen cannot be protected: its bean is not a Spring proxy.");
		assertThat(analysis.getAction()).contains("nothing that a post-processor needs may depend on the bean");
	}

	@Test
	void registryThatPostProcessorNeedsIsRefused() {
		FailureAnalysis analysis = Contexts
			.failure(this.runner.withUserConfiguration(Listener.class, EarlyRegistry.class));
		assertThat(analysis.getDescription())
			.isEqualTo("The KafkaListenerEndpointRegistry was created before idempotent listeners could be protected.");
		assertThat(analysis.getAction()).contains("dependency on KafkaListenerEndpointRegistry", "ObjectProvider");
	}

	@Test
	void beanCreatedByConfigurerIsRefused() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withUserConfiguration(SelfRegistered.class));
		assertThat(analysis.getDescription()).contains("its bean is not a Spring proxy");
		assertThat(analysis.getAction()).startsWith("Let Spring create the bean");
	}

	@Test
	@Tag("promise-13")
	void containerOfOtherListenerKeepsItsErrorHandler() {
		this.runner.withUserConfiguration(Other.class, Listener.class, Handler.class).run((context) -> {
			assertThat(container(context, "other").getCommonErrorHandler())
				.isSameAs(context.getBean(CommonErrorHandler.class));
			assertThat(context.getBean(BlockedRecordHandling.class).isInstalled(container(context, "id"))).isTrue();
		});
	}

	@Test
	@Tag("promise-13")
	void containerOfOtherListenerKeepsItsMessageListener() {
		this.runner.withUserConfiguration(Other.class, Listener.class)
			.run((context) -> assertThat(container(context, "other").getContainerProperties().getMessageListener())
				.isNotNull()
				.isNotInstanceOf(DeliveryListener.class));
	}

	// Boot's transaction management would ask for one, too.
	private static ApplicationContextRunner withoutProxyCreator() {
		return Contexts.without(TransactionAutoConfiguration.class).withPropertyValues("spring.aop.auto=false");
	}

	private static ContextConsumer<AssertableApplicationContext> isProtected() {
		return (context) -> {
			assertThat(context).hasNotFailed();
			assertThat(container(context, "id").getContainerProperties().getMessageListener())
				.isInstanceOf(DeliveryListener.class);
		};
	}

	private static AbstractMessageListenerContainer<?, ?> container(AssertableApplicationContext context, String id) {
		return (AbstractMessageListenerContainer<?, ?>) context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer(id);
	}

	static class Listener {

		@Idempotent
		@KafkaListener(id = "id", topics = "topic")
		void listen(String value) {
		}

	}

	static class RunnableListener implements Runnable {

		@Idempotent
		@KafkaListener(id = "id", topics = "topic")
		void listen(String value) {
		}

		@Override
		public void run() {
		}

	}

	static class Other {

		@KafkaListener(id = "other", topics = "topic")
		void listen(String value) {
		}

	}

	static class Handler {

		@Bean
		static DefaultErrorHandler errorHandler() {
			return new DefaultErrorHandler();
		}

	}

	@EnableKafka
	@Configuration(proxyBeanMethods = false)
	static class OwnKafka {

		@Bean
		ConcurrentKafkaListenerContainerFactory<String, String> kafkaListenerContainerFactory() {
			ConcurrentKafkaListenerContainerFactory<String, String> factory = new ConcurrentKafkaListenerContainerFactory<>();
			factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(Map.of()));
			factory.setAutoStartup(false);
			return factory;
		}

	}

	static class NeedsListener {

		@Bean
		static BeanPostProcessor needsListener(Listener listener) {
			return new BeanPostProcessor() {
			};
		}

	}

	static class EarlyListener {

		@Bean
		static BeanFactoryPostProcessor needsListener(Listener listener) {
			return (beanFactory) -> {
			};
		}

	}

	static class EarlyRegistry {

		@Bean
		static BeanFactoryPostProcessor needsRegistry(KafkaListenerEndpointRegistry registry) {
			return (beanFactory) -> {
			};
		}

	}

	static class SelfRegistered implements KafkaListenerConfigurer {

		private final Listener listener;

		SelfRegistered(ObjectProvider<Listener> listener) {
			this.listener = listener.getIfAvailable(Listener::new);
		}

		@Override
		public void configureKafkaListeners(KafkaListenerEndpointRegistrar registrar) {
			MethodKafkaListenerEndpoint<String, String> endpoint = new MethodKafkaListenerEndpoint<>();
			endpoint.setId("id");
			endpoint.setGroupId("group");
			endpoint.setTopics("topic");
			endpoint.setBean(this.listener);
			endpoint.setMethod(ReflectionUtils.findMethod(Listener.class, "listen", String.class));
			endpoint.setMessageHandlerMethodFactory(new DefaultMessageHandlerMethodFactory());
			registrar.registerEndpoint(endpoint);
		}

	}

}
