/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.cloud.function.context.FunctionCatalog;
import org.springframework.cloud.function.context.catalog.SimpleFunctionRegistry.FunctionInvocationWrapper;
import org.springframework.cloud.stream.binder.Binder;
import org.springframework.cloud.stream.binder.Binding;
import org.springframework.cloud.stream.binder.BindingCreatedEvent;
import org.springframework.cloud.stream.binder.DefaultBinderFactory;
import org.springframework.cloud.stream.binder.ExtendedConsumerProperties;
import org.springframework.cloud.stream.binder.kafka.KafkaMessageChannelBinder;
import org.springframework.cloud.stream.binder.kafka.properties.KafkaConsumerProperties;
import org.springframework.cloud.stream.function.BindableFunctionProxyFactory;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.retry.RetryTemplate;
import org.springframework.integration.kafka.inbound.KafkaMessageDrivenChannelAdapter;
import org.springframework.integration.support.context.NamedComponent;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.listener.function.FunctionProtection;
import dev.idempotency.listener.function.IdempotentFunction;
import dev.idempotency.listener.setup.ContainerProtection;
import dev.idempotency.listener.setup.StartupCheck;
import dev.idempotency.listener.springkafka.BindingRetries;

/**
 * Protects the bindings of idempotent functions. The binder creates the containers
 * itself, in an application context of its own, so the customizers of each Kafka binder
 * are decorated as soon as that context exists.
 * <p>
 * Fails the start of an application with a function that cannot be protected, after the
 * inputs are bound, because the binding service only logs exceptions.
 */
public final class BindingProtection extends StartupCheck
		implements DefaultBinderFactory.Listener, ApplicationListener<BindingCreatedEvent> {

	private static final Log logger = LogFactory.getLog(BindingProtection.class);

	// The inputs are bound at Integer.MAX_VALUE - 3000.
	private static final int PHASE = Integer.MAX_VALUE - 2999;

	private final ListableBeanFactory beanFactory;

	private final Set<String> protectedBindings = ConcurrentHashMap.newKeySet();

	private final Set<String> protectedFunctions = ConcurrentHashMap.newKeySet();

	private volatile @Nullable IdempotencyConfigurationException failure;

	BindingProtection(ListableBeanFactory beanFactory) {
		super(PHASE);
		this.beanFactory = beanFactory;
	}

	@Override
	public void afterBinderContextInitialized(String name, ConfigurableApplicationContext context) {
		for (Binder<?, ?, ?> binder : context.getBeansOfType(Binder.class).values()) {
			if (binder instanceof KafkaMessageChannelBinder kafka) {
				// The application may share its customizers with the context.
				BindingCustomizers customizers = context.getBeanFactory().createBean(BindingCustomizers.class);
				kafka.setContainerCustomizer(new BindingCustomizers.Containers(customizers.container(), this));
				kafka.setConsumerEndpointCustomizer(customizers.protectingEndpoints(this));
			}
		}
	}

	// Protect the container of a binding, if its function is idempotent.
	void protect(AbstractMessageListenerContainer<?, ?> container, String group,
			ExtendedConsumerProperties<KafkaConsumerProperties> properties) {
		String binding = properties.getBindingName();
		try {
			IdempotentFunction function = function(binding);
			if (function != null) {
				check(function, binding, group, properties);
				this.beanFactory.getBean(ContainerProtection.class).protect(container, function);
				this.protectedFunctions.add(function.name());
				this.protectedBindings.add(binding);
			}
		}
		catch (IdempotencyConfigurationException ex) {
			// The binding service would log it and retry.
			this.failure = ex;
			throw ex;
		}
	}

	private static void check(IdempotentFunction function, String binding, String group,
			ExtendedConsumerProperties<KafkaConsumerProperties> properties) {
		String prefix = "spring.cloud.stream.bindings." + binding;
		if (properties.isBatchMode()) {
			throw refusal(function, binding, "delivers batches, but an idempotent function receives single records",
					"Remove '" + prefix + ".consumer.batch-mode', or receive the batches with @KafkaListener.");
		}
		if (group.startsWith("anonymous.")) {
			throw refusal(function, binding,
					"has no consumer group, so that its keys would be forgotten with each start",
					"Set '" + prefix + ".group'.");
		}
		if (Boolean
			.parseBoolean(properties.getExtension().getConfiguration().get(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG))) {
			throw refusal(function, binding, "commits offsets by itself, also those of blocked records",
					"Remove 'enable.auto.commit' from the configuration of the consumer.");
		}
		String problem = BindingRetries.problem(KafkaMessageDrivenChannelAdapter.class);
		if (problem != null) {
			throw refusal(function, binding, "has retries that cannot be decorated, because " + problem,
					"Use Spring Integration 7.0 or 7.1.");
		}
	}

	// Make the retries of a protected binding leave out blocked records.
	void protectRetries(KafkaMessageDrivenChannelAdapter<?, ?> adapter) {
		String binding = (adapter.getOutputChannel() instanceof NamedComponent channel) ? channel.getComponentName()
				: null;
		if (binding != null && this.protectedBindings.contains(binding)) {
			RetryTemplate template = BindingRetries.template(adapter);
			if (template != null) {
				adapter.setRetryTemplate(new BlockedAwareRetryTemplate(template));
			}
		}
	}

	@Override
	public void onApplicationEvent(BindingCreatedEvent event) {
		Binding<?> created = (Binding<?>) event.getSource();
		if (!created.isInput() || !"kafka".equals(created.getBinderType())) {
			return;
		}
		String binding = created.getBindingName();
		IdempotentFunction function = this.protectedBindings.contains(binding) ? null : function(binding);
		if (function != null) {
			this.failure = refusal(function, binding,
					"has a binder whose customizers were replaced after the start of the binder",
					"Declare the ListenerContainerCustomizer and the ConsumerEndpointCustomizer as beans instead of "
							+ "setting them in a BinderCustomizer.");
			throw this.failure;
		}
	}

	@Override
	protected void check() {
		IdempotencyConfigurationException ex = this.failure;
		if (ex != null) {
			throw ex;
		}
		Set<String> unprotected = new TreeSet<>(this.beanFactory.getBean(FunctionProtection.class).names());
		unprotected.removeAll(this.protectedFunctions);
		if (!unprotected.isEmpty()) {
			logger.warn("@Idempotent has no effect on the functions " + unprotected
					+ ": no binding of a Kafka binder names them in its function definition. Bind each of them to a "
					+ "Kafka topic, or remove @Idempotent");
		}
	}

	private @Nullable IdempotentFunction function(String binding) {
		FunctionProtection protection = this.beanFactory.getBean(FunctionProtection.class);
		List<String> names = this.beanFactory.getBeansOfType(BindableFunctionProxyFactory.class)
			.values()
			.stream()
			.filter((factory) -> factory.getInputs().contains(binding))
			.flatMap((factory) -> Stream.of(factory.getFunctionDefinition().split("[|,]")))
			.map(String::trim)
			.toList();
		List<IdempotentFunction> found = names.stream()
			.flatMap((name) -> Stream.ofNullable(protection.find(name)))
			.toList();
		if (found.size() > 1) {
			throw refusal(found.get(0), binding,
					"composes it with the idempotent function " + found.get(1).name()
							+ ", and a key that one has processed would be a duplicate for the other",
					"Compose one idempotent function at most, and send its result to a topic for the other.");
		}
		if (found.isEmpty()) {
			return null;
		}
		// A reactive pipeline ends with the first error, also that of a blocked record.
		names.stream().filter(this::isReactive).findFirst().ifPresent((name) -> {
			throw refusal(found.get(0), binding,
					"composes it with the reactive function " + name
							+ ", so that an error, even of a blocked record, ends the processing of all records",
					"Compose it with functions of the payload or a Message, and call the reactive function from "
							+ "another binding.");
		});
		return found.get(0);
	}

	private boolean isReactive(String name) {
		return this.beanFactory.getBean(FunctionCatalog.class)
			.lookup(name) instanceof FunctionInvocationWrapper function
				&& (function.isInputTypePublisher() || function.isOutputTypePublisher());
	}

	private static IdempotencyConfigurationException refusal(IdempotentFunction function, String binding, String reason,
			String action) {
		return FunctionProtection.refusal(function.name(), "its binding " + binding + " " + reason, action);
	}

}
