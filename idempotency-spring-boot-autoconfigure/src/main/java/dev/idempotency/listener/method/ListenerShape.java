/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.target.SingletonTargetSource;
import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.Message;
import org.springframework.messaging.support.MessageHeaderAccessor;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Mode;
import dev.idempotency.listener.async.AsyncResult;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ManualAcknowledgments;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;

/**
 * A listener method and its kind.
 *
 * @param name its name for messages
 * @param method the method
 * @param targetClass its class
 * @param batch whether the method receives batches
 * @param async converts the return value of an asynchronous method, {@code null} if the
 * method is synchronous
 * @param kafkaTransaction whether the container begins a Kafka transaction
 * @param acknowledging whether the method acknowledges its records itself
 */
public record ListenerShape(String name, Method method, Class<?> targetClass, boolean batch,
		@Nullable AsyncResult async, boolean kafkaTransaction, boolean acknowledging) {

	public static ListenerShape of(String name, Method method, Class<?> targetClass,
			MessageListenerContainer container) {
		return new ListenerShape(name, method, targetClass, listener(container) instanceof BatchMessageListener<?, ?>,
				AsyncResult.of(method), container.getContainerProperties().getKafkaAwareTransactionManager() != null,
				ManualAcknowledgments.isManual(container.getContainerProperties().getAckMode())
						&& canAcknowledge(method, targetClass));
	}

	// An advice chain makes the listener a proxy, which
	// would be advised twice if it was decorated.
	public static @Nullable Object listener(MessageListenerContainer container) {
		Object listener = container.getContainerProperties().getMessageListener();
		return (listener instanceof Advised advised
				&& advised.getTargetSource() instanceof SingletonTargetSource source) ? source.getTarget() : listener;
	}

	// The headers contain the acknowledgment too. A method that receives neither cannot
	// acknowledge, so the completion of its records must not wait for an acknowledgment.
	private static boolean canAcknowledge(Method method, Class<?> targetClass) {
		return IntStream.range(0, method.getParameterCount())
			.mapToObj((index) -> ResolvableType.forMethodParameter(method, index, targetClass))
			.flatMap((type) -> Stream.of(type, type.as(Optional.class).getGeneric(0)))
			.anyMatch((type) -> Stream.of(Acknowledgment.class, Message.class, Map.class, MessageHeaderAccessor.class)
				.anyMatch((known) -> known.isAssignableFrom(type.toClass()))
					|| Message.class.isAssignableFrom(type.as(List.class).getGeneric(0).toClass()));
	}

	/**
	 * Whether the container keeps the offset of a record until a method acknowledges it.
	 * @param methods the methods of the endpoint, also those that are not protected
	 * @param targetClass the class of the bean
	 * @param container the container
	 * @return whether it does
	 */
	public static boolean isAcknowledging(Collection<Method> methods, Class<?> targetClass,
			MessageListenerContainer container) {
		ContainerProperties properties = container.getContainerProperties();
		return ManualAcknowledgments.isManual(properties.getAckMode())
				&& properties.getKafkaAwareTransactionManager() == null
				&& methods.stream().anyMatch((method) -> canAcknowledge(method, targetClass));
	}

	// The type of the result that is stored for a record.
	public @Nullable Type resultType() {
		boolean suspending = KotlinDetector.isSuspendingFunction(this.method);
		ResolvableType type = suspending ? continuation(this.method)
				: ResolvableType.forMethodReturnType(this.method, this.targetClass);
		if (this.batch) {
			type = type.as(List.class).getGeneric(0);
		}
		else if (this.async != null && !suspending) {
			type = type.getGeneric(0);
		}
		Class<?> raw = type.resolve(Object.class);
		boolean none = this.method.getReturnType() == void.class || raw == Void.class
				|| raw.getName().equals("kotlin.Unit");
		return none ? null : (type.resolve() != null) ? type.getType() : Object.class;
	}

	// The result type of a suspending function is the type argument of its continuation.
	private static ResolvableType continuation(Method method) {
		ResolvableType type = ResolvableType
			.forMethodParameter(new MethodParameter(method, method.getParameterCount() - 1))
			.getGeneric(0);
		return (type.getType() instanceof WildcardType wildcard && wildcard.getLowerBounds().length == 1)
				? ResolvableType.forType(wildcard.getLowerBounds()[0]) : type;
	}

	public ProtectedListener protect(ListenerSettings settings) {
		AcknowledgmentCheck check = (this.acknowledging && settings.mode() == Mode.TRANSACTIONAL)
				? new AcknowledgmentCheck(settings.name()) : null;
		if (this.batch) {
			return new ProtectedBatchListener(settings, check, this.acknowledging,
					this.acknowledging && settings.mode() == Mode.LEASED && !this.kafkaTransaction);
		}
		return new ProtectedRecordListener(settings, this.async, check, this.acknowledging);
	}

	// The reason why the method cannot run in the transaction of transactional mode.
	public @Nullable String transactionalProblem() {
		if (this.async != null) {
			return "is asynchronous, and a transaction ends when its method returns";
		}
		return this.kafkaTransaction
				? "has a Kafka transaction in its container, which commits after the database, so that its output "
						+ "could be lost"
				: null;
	}

	public IdempotencyConfigurationException mistake(String problem, String action) {
		return mistake(this.name, problem, action);
	}

	// The problem is the end of a sentence whose subject is the listener.
	public static IdempotencyConfigurationException mistake(String name, String problem, String action) {
		return new IdempotencyConfigurationException("The idempotent listener " + name + " " + problem + ".", action);
	}

}
