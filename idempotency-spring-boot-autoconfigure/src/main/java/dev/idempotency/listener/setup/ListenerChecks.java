/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.List;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.springframework.aop.Advisor;
import org.springframework.aop.framework.Advised;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.AbstractShareKafkaMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.listener.adapter.FilteringBatchMessageListenerAdapter;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.Message;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.scheduling.annotation.Async;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.interceptor.TransactionInterceptor;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.listener.async.AsyncResult;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ManualAcknowledgments;
import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.listener.method.ListenerShape;
import dev.idempotency.listener.springkafka.RecordFilters;

/**
 * Rejects a listener that cannot be protected before it starts: the proxy of the bean,
 * the container, the signature of the method, and the settings of the consumer.
 *
 * @param shape the kind of its method
 * @param container its container
 */
record ListenerChecks(ListenerShape shape, MessageListenerContainer container) {

	void check(Object bean, boolean autoCommit) {
		checkProxy(bean);
		checkContainer();
		checkThread();
		checkKafkaTransaction();
		checkResult();
		checkAsync();
		if (this.shape.batch()) {
			checkBatch();
		}
		refuseIf(autoCommit, "its consumer commits offsets by itself, also those of blocked records",
				"Remove 'enable.auto.commit' from the consumer's properties.");
	}

	void checkFunction() {
		checkContainer();
		checkKafkaTransaction();
		AckMode mode = this.container.getContainerProperties().getAckMode();
		refuseIf(ManualAcknowledgments.isManual(mode),
				"it is a function whose binding has the ack mode " + mode
						+ ", in which the function itself would acknowledge its records",
				"Remove 'ack-mode' from the consumer properties of the binding.");
	}

	// An asynchronous method makes the container of all methods asynchronous, so that
	// records of the other methods would not be acknowledged when they return.
	static void checkNotMixed(List<Method> methods, Class<?> targetClass) {
		if (methods.stream().map((method) -> AsyncResult.of(method) != null).distinct().count() > 1) {
			throw refusal(ListenerSettings.where(methods.get(0), targetClass),
					"some methods of its listener class are asynchronous and others are not",
					"Let all of them return a CompletableFuture or a Mono, or none.");
		}
	}

	static void checkType(MessageListenerContainer container, String where) {
		if (!(container instanceof AbstractMessageListenerContainer<?, ?>)) {
			throw refusal(where, "its container is a " + container.getClass().getSimpleName()
					+ ((container instanceof AbstractShareKafkaMessageListenerContainer<?, ?>)
							? ", whose broker archives a record after a few deliveries, even if its handler never failed"
							: ", whose handling of errors cannot be decorated"),
					"Use a container of a consumer group.");
		}
	}

	// The description is the end of a sentence whose subject is the listener.
	static IdempotencyConfigurationException refusal(String where, String description, String action) {
		return ListenerShape.mistake(where, "cannot be protected: " + description, action);
	}

	private void refuseIf(boolean condition, String description, String action) {
		if (condition) {
			throw refusal(this.shape.name(), description, action);
		}
	}

	private void checkProxy(Object bean) {
		refuseIf(!AopUtils.isAopProxy(bean), "its bean is not a Spring proxy",
				"Let Spring create the bean after its post-processors: nothing that a post-processor needs may "
						+ "depend on the bean.");
		List<Advisor> advisors = List.of(((Advised) bean).getAdvisors());
		refuseIf(advisors.stream().noneMatch(IdempotentAdvisor.class::isInstance),
				"its bean was created before the advisor of @Idempotent",
				"Nothing that a post-processor or another advisor needs may depend on the bean.");
		Stream<Advisor> outer = advisors.stream().takeWhile((advisor) -> !(advisor instanceof IdempotentAdvisor));
		refuseIf(outer.anyMatch((advisor) -> advisor.getAdvice() instanceof TransactionInterceptor),
				"@Transactional begins its transaction outside, and would commit after the record is completed",
				"Do not set an order on @EnableTransactionManagement.");
		int modifiers = this.shape.method().getModifiers();
		refuseIf(Modifier.isFinal(modifiers) || Modifier.isPrivate(modifiers) || Modifier.isStatic(modifiers),
				"the method is " + Modifier.toString(modifiers) + ", so a proxy cannot intercept it",
				"Make the method at least package-private, not static and not final. In Kotlin, declare it 'open', "
						+ "or use the kotlin-spring plugin.");
	}

	private void checkContainer() {
		ContainerProperties properties = this.container.getContainerProperties();
		refuseIf(Stream.of(properties.getAdviceChain()).anyMatch(TransactionInterceptor.class::isInstance),
				"the advice chain of its container begins a transaction outside",
				"Put @Transactional on the method instead.");
		refuseIf(properties.isFixTxOffsets(),
				"the property 'fixTxOffsets' of its container commits the position of the consumer, also behind "
						+ "records that are not processed",
				"Do not set it: the lag that it corrects is that of the markers of transactions.");
		BeanWrapper bean = PropertyAccessorFactory.forBeanPropertyAccess(properties);
		// A later version of Spring Kafka will not have this property any more.
		refuseIf(bean.isReadableProperty("transactionManager") && bean.getPropertyValue("transactionManager") != null,
				"the property 'transactionManager' of its container begins a transaction outside, after whose "
						+ "rollbacks a blocked record would be given up",
				"Put @Transactional on the method instead. Set a Kafka transaction manager as "
						+ "'kafkaAwareTransactionManager'.");
	}

	private void checkThread() {
		Method method = this.shape.method();
		refuseIf(
				AnnotatedElementUtils.hasAnnotation(method, Async.class)
						|| AnnotatedElementUtils.hasAnnotation(method.getDeclaringClass(), Async.class),
				"@Async moves it to another thread than that of the container, so the record would be "
						+ "acknowledged before it is processed",
				"Remove @Async.");
	}

	private void checkKafkaTransaction() {
		ContainerProperties properties = this.container.getContainerProperties();
		if (this.shape.kafkaTransaction()) {
			refuseIf(!(properties.getKafkaAwareTransactionManager() instanceof ConfigurableTransactionManager),
					"the Kafka transaction manager of its container does not notify of commits",
					"Use Spring Kafka's KafkaTransactionManager.");
			refuseIf(properties.getAckMode() == AckMode.MANUAL_IMMEDIATE,
					"its container has a Kafka transaction and the ack mode MANUAL_IMMEDIATE, in which the key of a "
							+ "record would be completed even if the method does not acknowledge the record",
					"Set the ack mode to BATCH or RECORD, or use a container factory without a Kafka transaction "
							+ "manager.");
		}
	}

	private void checkResult() {
		Class<?> type = this.shape.method().getReturnType();
		refuseIf(this.shape.async() == null && AsyncResult.isAsynchronous(type),
				"it returns a " + type.getSimpleName() + ", which Spring Kafka does not wait for",
				"Return a CompletableFuture or a Mono.");
		Type result = (this.shape.batch() && !List.class.isAssignableFrom(type)) ? null : this.shape.resultType();
		refuseIf(result != null && Message.class.isAssignableFrom(ResolvableType.forType(result).resolve(Object.class)),
				"it returns a Message, whose headers belong to the first delivery only",
				"Return the payload; the reply gets the current correlation id by itself.");
	}

	private void checkAsync() {
		refuseIf(this.shape.async() != null && this.shape.batch(),
				"it is an asynchronous batch listener, whose batch Spring Kafka acknowledges also when it fails",
				"Return the results themselves, or set 'batch' of @KafkaListener to \"false\".");
		refuseIf(this.shape.async() != null && this.shape.kafkaTransaction(),
				"it is asynchronous, but its container has a Kafka transaction, which ends when the method returns",
				"Return the result itself, or use a container factory without a Kafka transaction manager.");
	}

	private void checkBatch() {
		Method method = this.shape.method();
		Class<?> result = method.getReturnType();
		refuseIf(result != void.class && result != List.class,
				"it is a batch listener that returns a " + result.getSimpleName() + ", which cannot be split by record",
				"Return a List with one element for each record, or nothing.");
		for (int i = 0; i < method.getParameterCount(); i++) {
			MethodParameter parameter = new MethodParameter(method, i);
			refuseIf(!isAllowed(parameter),
					"it is a batch listener with a parameter of type " + parameter.getParameterType().getSimpleName()
							+ ", from which single records cannot be removed",
					"Use List parameters (also for headers), ConsumerRecords, Acknowledgment and Consumer.");
		}
		refuseIf(Stream.of(method.getParameterTypes()).noneMatch(ListenerChecks::isBatch),
				"its container delivers batches, but the method accepts single records",
				"Set 'batch' of @KafkaListener to \"false\", or declare a List parameter.");
		Object listener = ListenerShape.listener(this.container);
		String problem = (listener instanceof FilteringBatchMessageListenerAdapter<?, ?>)
				? RecordFilters.problem(listener) : null;
		if (problem != null) {
			throw refusal(this.shape.name(), problem, "Remove the filter, and drop records in a BatchInterceptor.");
		}
	}

	private static boolean isAllowed(MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		Header header = parameter.getParameterAnnotation(Header.class);
		return isBatch(type) || Acknowledgment.class.isAssignableFrom(type) || Consumer.class.isAssignableFrom(type)
				|| (header != null && KafkaHeaders.GROUP_ID.equals(header.value()));
	}

	private static boolean isBatch(Class<?> type) {
		return type == List.class || type == ConsumerRecords.class;
	}

}
