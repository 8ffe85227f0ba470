/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.function;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.support.KafkaUtils;
import org.springframework.messaging.Message;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.listener.async.AsyncResult;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.method.IdempotentAdvisor;

/**
 * Protects function beans that are called by a listener container which no endpoint
 * registry knows, as the binder of Spring Cloud Stream creates them. The function must
 * run on the thread of the container and receive single records.
 *
 * @since 0.1.0
 */
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class FunctionProtection implements BeanPostProcessor {

	private static final Log logger = LogFactory.getLog(FunctionProtection.class);

	private static final List<Class<?>> KINDS = List.of(Function.class, Consumer.class, Supplier.class,
			BiFunction.class, BiConsumer.class);

	private final ConfigurableListableBeanFactory beanFactory;

	// The classes whose calls are advised, by the name of the bean.
	private final Map<String, Class<?>> advised = new ConcurrentHashMap<>();

	private final Set<String> warned = ConcurrentHashMap.newKeySet();

	FunctionProtection(ConfigurableListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	// Find the idempotent function with the given name, if there is one.
	public @Nullable IdempotentFunction find(String name) {
		if (!this.beanFactory.containsBean(name)) {
			return null;
		}
		Object bean = this.beanFactory.getBean(name);
		Class<?> advised = this.advised.get(name);
		// Another post-processor may have wrapped the bean afterwards.
		Class<?> targetClass = (advised != null) ? advised : AopUtils.getTargetClass(bean);
		Method method = method(bean, targetClass);
		Idempotent annotation = annotation(name, method, targetClass);
		if (annotation == null) {
			return null;
		}
		if (method == null) {
			throw refusal(name, "it is neither a java.util.function.Function nor a java.util.function.Consumer",
					"Declare it as one of these, or receive the records with @KafkaListener.");
		}
		ResolvableType type = type(name, bean, targetClass);
		checkTypes(name, type);
		return new IdempotentFunction(name, annotation, method, targetClass, result(bean, type));
	}

	// Return whether the record of the current thread is blocked. It must reach the
	// error handler of its container without a retry.
	public static boolean isBlocked() {
		Delivery delivery = Delivery.current();
		return delivery != null && delivery.blocked() != null;
	}

	// The names of the idempotent function beans that exist.
	public Set<String> names() {
		return Set.copyOf(this.advised.keySet());
	}

	public static boolean isFunction(Method beanMethod) {
		return AnnotatedElementUtils.hasAnnotation(beanMethod, Bean.class)
				&& KINDS.stream().anyMatch((kind) -> kind.isAssignableFrom(beanMethod.getReturnType()));
	}

	private static @Nullable Method method(Object bean, Class<?> targetClass) {
		Method method = (bean instanceof Function<?, ?>) ? ClassUtils.getMethod(Function.class, "apply", Object.class)
				: (bean instanceof Consumer<?>) ? ClassUtils.getMethod(Consumer.class, "accept", Object.class) : null;
		return (method != null) ? AopUtils.getMostSpecificMethod(method, targetClass) : null;
	}

	private @Nullable Idempotent annotation(String name, @Nullable Method method, Class<?> targetClass) {
		Idempotent annotation = IdempotentAdvisor.annotation(method, targetClass);
		return (annotation != null || !this.beanFactory.containsBean(name)) ? annotation
				: this.beanFactory.findAnnotationOnBean(name, Idempotent.class);
	}

	// The bean method declares the types of a lambda expression, whose class does not.
	private ResolvableType type(String name, Object bean, Class<?> targetClass) {
		ResolvableType type = this.beanFactory.containsBeanDefinition(name)
				? this.beanFactory.getMergedBeanDefinition(name).getResolvableType() : ResolvableType.NONE;
		Class<?> kind = (bean instanceof Function<?, ?>) ? Function.class : Consumer.class;
		ResolvableType declared = type.as(kind);
		return (declared != ResolvableType.NONE) ? declared : ResolvableType.forClass(targetClass).as(kind);
	}

	private static void checkTypes(String name, ResolvableType type) {
		for (ResolvableType generic : type.getGenerics()) {
			Class<?> resolved = generic.resolve(Object.class);
			if (AsyncResult.isAsynchronous(resolved) || Stream.of(generic.getGenerics())
				.anyMatch((element) -> AsyncResult.isReactive(element.resolve(Object.class)))) {
				throw refusal(name,
						"its type contains " + resolved.getSimpleName()
								+ ", so that it does not process a record on the thread of the consumer",
						"Receive the payload or a Message of it, and return the result itself.");
			}
		}
		if (containsMessage(type.getGeneric(1))) {
			throw refusal(name, "it returns a Message, whose headers belong to the first delivery only",
					"Return the payload.");
		}
	}

	private static boolean containsMessage(ResolvableType type) {
		return Message.class.isAssignableFrom(type.resolve(Object.class))
				|| (type.isArray() && containsMessage(type.getComponentType()))
				|| Stream.of(type.getGenerics()).anyMatch(FunctionProtection::containsMessage);
	}

	private static @Nullable Type result(Object bean, ResolvableType type) {
		if (!(bean instanceof Function<?, ?>)) {
			return null;
		}
		ResolvableType result = type.getGeneric(1);
		Class<?> resolved = result.resolve();
		if (resolved == null) {
			return Object.class;
		}
		return (resolved != Void.class) ? result.getType() : null;
	}

	public static IdempotencyConfigurationException refusal(String name, String reason, String action) {
		return new IdempotencyConfigurationException(
				"The idempotent function " + name + " cannot be protected: " + reason + ".", action);
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (KINDS.stream().noneMatch((kind) -> kind.isInstance(bean))) {
			return bean;
		}
		Class<?> targetClass = AopUtils.getTargetClass(bean);
		Method method = method(bean, targetClass);
		if (annotation(beanName, method, targetClass) == null) {
			return bean;
		}
		this.advised.put(beanName, targetClass);
		if (method == null || IdempotentAdvisor.isMarked(method, targetClass)) {
			return bean;
		}
		ProxyFactory factory = new ProxyFactory(bean);
		// Other beans may inject the class.
		factory.setProxyTargetClass(
				!AopUtils.isAopProxy(bean) && !targetClass.isHidden() && !Modifier.isFinal(targetClass.getModifiers()));
		factory.addAdvice((MethodInterceptor) (invocation) -> call(beanName, method, invocation));
		return factory.getProxy(targetClass.getClassLoader());
	}

	private @Nullable Object call(String name, Method method, MethodInvocation invocation) throws Throwable {
		if (!invocation.getMethod().getName().equals(method.getName())) {
			return invocation.proceed();
		}
		Delivery delivery = Delivery.current();
		ProtectedListener listener = (delivery != null) ? delivery.listener(method) : null;
		if (delivery != null && listener != null) {
			return IdempotentAdvisor.invoke(listener, invocation, delivery);
		}
		if (delivery == null && KafkaUtils.getConsumerGroupId() != null && this.warned.add(name)) {
			logger.warn("@Idempotent on the function " + name + " is ignored: a thread of the consumer group '"
					+ KafkaUtils.getConsumerGroupId() + "' called it, but no binding of that consumer names it in "
					+ "its function definition, so it runs for each delivery. Bind the function itself instead of "
					+ "a router, or call it within IdempotencyTemplate.execute");
		}
		return invocation.proceed();
	}

}
