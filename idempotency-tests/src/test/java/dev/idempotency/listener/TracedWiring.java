/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.beans.PropertyDescriptor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.DelegatingMessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.Idempotent;

/**
 * Traces the types of the beans and the settings of the containers of an application.
 */
final class TracedWiring {

	private final ConfigurableListableBeanFactory beanFactory;

	private final Trace trace;

	TracedWiring(ConfigurableApplicationContext context, Trace trace) {
		this.beanFactory = context.getBeanFactory();
		this.trace = trace;
	}

	void trace(Collection<String> listeners) {
		for (String name : this.beanFactory.getBeanNamesForType(Object.class, false, false)) {
			Object bean = this.beanFactory.getSingleton(name);
			if (bean != null && !isOurs(bean.getClass())) {
				// The only bean of Spring Kafka that is
				// advised, because it registers containers.
				String made = (bean instanceof KafkaListenerEndpointRegistry) ? AopUtils.getTargetClass(bean).getName()
						: bean.getClass().getName() + advisors(bean);
				this.trace.add("beans", name + " " + made);
			}
		}
		KafkaListenerEndpointRegistry registry = this.beanFactory.getBean(KafkaListenerEndpointRegistry.class);
		for (String id : listeners) {
			container(id, (AbstractMessageListenerContainer<?, ?>) registry.getListenerContainer(id));
		}
	}

	private void container(String id, AbstractMessageListenerContainer<?, ?> container) {
		String lane = "container " + id;
		properties(lane, container);
		properties(lane, container.getContainerProperties());
		this.trace.add(lane, "own error handler "
				+ (container.getCommonErrorHandler() == this.beanFactory.getBean(CommonErrorHandler.class)));
		Object listener = container.getContainerProperties().getMessageListener();
		while (listener instanceof DelegatingMessageListener<?> delegating) {
			this.trace.add(lane, "delegating " + listener.getClass().getName());
			listener = delegating.getDelegate();
		}
		this.trace.add(lane, "listener " + listener.getClass().getName());
		properties(lane, listener);
	}

	private void properties(String lane, Object object) {
		BeanWrapper wrapper = PropertyAccessorFactory.forBeanPropertyAccess(object);
		for (PropertyDescriptor property : wrapper.getPropertyDescriptors()) {
			if (wrapper.isReadableProperty(property.getName()) && !property.getName().contains("ssignedPartitions")) {
				this.trace.add(lane, property.getName() + " " + text(wrapper.getPropertyValue(property.getName())));
			}
		}
	}

	private static @Nullable String text(@Nullable Object value) {
		if (value == null || BeanUtils.isSimpleProperty(value.getClass())) {
			return (value instanceof Object[] array) ? Arrays.toString(array) : String.valueOf(value);
		}
		if (value instanceof Map<?, ?> || value instanceof MessageListenerContainer) {
			// Metrics, and the children that a concurrent container has created so far.
			return value.getClass().getName();
		}
		if (value instanceof Collection<?> collection) {
			return collection.stream().map((element) -> element.getClass().getName()).sorted().toList().toString();
		}
		return value.getClass().getName();
	}

	private static List<String> advisors(Object bean) {
		List<String> advisors = new ArrayList<>();
		if (bean instanceof Advised advised) {
			Arrays.stream(advised.getAdvisors()).forEach((advisor) -> advisors.add(advisor.getClass().getName()));
		}
		return advisors;
	}

	private static boolean isOurs(Class<?> type) {
		return type.getProtectionDomain().getCodeSource() != null && type.getProtectionDomain()
			.getCodeSource()
			.getLocation()
			.equals(Idempotent.class.getProtectionDomain().getCodeSource().getLocation());
	}

}
