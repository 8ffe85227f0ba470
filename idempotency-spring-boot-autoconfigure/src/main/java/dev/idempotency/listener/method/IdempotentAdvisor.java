/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;

import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;
import org.springframework.aop.support.StaticMethodMatcherPointcutAdvisor;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Role;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.ConsumerSeekAware;
import org.springframework.kafka.support.KafkaUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ConcurrentReferenceHashMap;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.Idempotent;
import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.delivery.DeliveryListener;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;

/**
 * Advises the methods that {@link Idempotent} annotates, directly or through their class.
 * The advisor has no dependencies, because it must exist before every listener bean. The
 * current {@link Delivery} provides the protection of the method.
 * <p>
 * The advisor warns once for each method that runs unprotected: a consumer thread calls
 * the method, but the container of that consumer was not registered as a listener.
 * Consumers without a consumer group are not recognized.
 */
@SuppressWarnings("serial")
@Role(BeanDefinition.ROLE_INFRASTRUCTURE)
public final class IdempotentAdvisor extends StaticMethodMatcherPointcutAdvisor {

	/**
	 * Called instead of a method when the thread delivers no record.
	 */
	public static final ConsumerLocal<MethodInterceptor> PROBE = new ConsumerLocal<>();

	private static final Log logger = LogFactory.getLog(IdempotentAdvisor.class);

	private static final Map<Class<?>, Boolean> CANDIDATES = new ConcurrentReferenceHashMap<>();

	private final transient Set<Method> marked = ConcurrentHashMap.newKeySet();

	private final transient Set<Method> checkedForWarning = ConcurrentHashMap.newKeySet();

	private volatile boolean matched;

	public IdempotentAdvisor() {
		setAdvice((MethodInterceptor) this::invoke);
		setClassFilter(IdempotentAdvisor::isCandidate);
		// The transaction advisor has the lowest precedence and must be inside.
		setOrder(Ordered.LOWEST_PRECEDENCE - 1000);
	}

	private @Nullable Object invoke(MethodInvocation invocation) throws Throwable {
		Delivery delivery = Delivery.current();
		if (delivery == null) {
			MethodInterceptor probe = PROBE.find();
			if (probe != null) {
				return probe.invoke(invocation);
			}
			warnIfUnprotected(invocation);
			return invocation.proceed();
		}
		ProtectedListener listener = delivery.listener(invocation.getMethod());
		return (listener != null) ? invoke(listener, invocation, delivery) : invocation.proceed();
	}

	public static @Nullable Object invoke(ProtectedListener listener, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		delivery.unblock();
		try {
			return listener.invoke(invocation, delivery);
		}
		catch (RuntimeException ex) {
			if (ex == delivery.blocked()) {
				throw new BlockedSignal(ex);
			}
			throw ex;
		}
	}

	// Matches annotated methods and all methods of annotated classes.
	@Override
	public boolean matches(Method method, Class<?> targetClass) {
		if (!isMarked(method, targetClass)) {
			return false;
		}
		this.matched = true;
		Method specific = AopUtils.getMostSpecificMethod(method, targetClass);
		if (AnnotatedElementUtils.hasAnnotation(specific, Idempotent.class)) {
			this.marked.add(specific);
		}
		// The annotation of a bean method applies to the function that it returns.
		return !AnnotatedElementUtils.hasAnnotation(specific, Bean.class);
	}

	// Whether a class can have a method that is marked. The search runs once for a
	// class, because two advisors ask for each bean of the application.
	public static boolean isCandidate(Class<?> type) {
		return CANDIDATES.computeIfAbsent(type, IdempotentAdvisor::declares);
	}

	private static boolean declares(Class<?> type) {
		return AnnotationUtils.isCandidateClass(type, Idempotent.class) && (AnnotatedElementUtils.hasAnnotation(type,
				Idempotent.class) || declaresMethod(type)
				|| ClassUtils.getAllInterfacesForClassAsSet(type).stream().anyMatch(IdempotentAdvisor::declaresMethod));
	}

	private static boolean declaresMethod(Class<?> type) {
		return Stream.of(ReflectionUtils.getAllDeclaredMethods(type))
			.anyMatch((method) -> AnnotatedElementUtils.isAnnotated(method, Idempotent.class));
	}

	// The annotation of a method, or of its class.
	public static @Nullable Idempotent annotation(@Nullable Method method, Class<?> targetClass) {
		Idempotent annotation = (method != null) ? AnnotatedElementUtils
			.findMergedAnnotation(AopUtils.getMostSpecificMethod(method, targetClass), Idempotent.class) : null;
		return (annotation != null) ? annotation
				: AnnotatedElementUtils.findMergedAnnotation(targetClass, Idempotent.class);
	}

	public static boolean isMarked(Method method, Class<?> targetClass) {
		return annotation(method, targetClass) != null;
	}

	public boolean isUsed() {
		return this.matched;
	}

	// The matched methods that have the annotation themselves.
	public Set<Method> markedMethods() {
		return Set.copyOf(this.marked);
	}

	private void warnIfUnprotected(MethodInvocation invocation) {
		String group = KafkaUtils.getConsumerGroupId();
		if (group == null) {
			return;
		}
		Object target = invocation.getThis();
		Class<?> type = (target != null) ? AopUtils.getTargetClass(target) : invocation.getMethod().getDeclaringClass();
		Method method = AopUtils.getMostSpecificMethod(invocation.getMethod(), type);
		if (this.checkedForWarning.add(method) && isListenerMethod(method, type)) {
			logger.warn("@Idempotent on " + ListenerSettings.where(method, method.getDeclaringClass())
					+ " is ignored: a thread of the consumer group '" + group
					+ "' called the method, but not as a registered listener, so the method runs for each delivery. If a "
					+ "listener calls it, put @Idempotent on the method of the listener. If a container of the application "
					+ "calls it, put @KafkaListener on it, or call it within IdempotencyTemplate.execute");
		}
	}

	// The annotation of a class applies to its listener methods, if it has any.
	private static boolean isListenerMethod(Method method, Class<?> type) {
		if (AnnotatedElementUtils.hasAnnotation(method, Idempotent.class)) {
			return true;
		}
		Set<Method> listeners = kafkaListeners(type);
		return listeners.contains(method) || (listeners.isEmpty() && !ReflectionUtils.isObjectMethod(method)
				&& !ClassUtils.hasMethod(ConsumerSeekAware.class, method.getName(), method.getParameterTypes()));
	}

	private static Set<Method> kafkaListeners(Class<?> type) {
		return MethodIntrospector.selectMethods(type,
				(ReflectionUtils.MethodFilter) (
						candidate) -> AnnotatedElementUtils.hasAnnotation(candidate, KafkaListener.class)
								|| AnnotatedElementUtils.hasAnnotation(candidate, KafkaHandler.class));
	}

	// The listener methods of a class that are marked.
	public static Stream<Method> listenerMethods(Class<?> type) {
		return kafkaListeners(type).stream().filter((method) -> isMarked(method, type));
	}

	/**
	 * Leaves a method whose delivery is blocked. The {@link DeliveryListener} throws the
	 * reason to the container. It is an error, because the listener adapter passes each
	 * exception to the {@code KafkaListenerErrorHandler} of the application and sends the
	 * result as a reply.
	 */
	private static final class BlockedSignal extends Error {

		BlockedSignal(RuntimeException reason) {
			super(reason.getMessage(), reason, false, false);
		}

	}

}
