/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.IntStream;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.jspecify.annotations.Nullable;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.MethodParameter;
import org.springframework.kafka.listener.adapter.AdapterUtils;
import org.springframework.kafka.listener.adapter.ConsumerRecordMetadata;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.messaging.MessageHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Headers;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.util.ClassUtils;

/**
 * The parameters of a listener method.
 *
 * @param indexes their positions by their names
 * @param payloadIndex the position of the payload, -1 if there is none
 * @param types their types
 */
record ListenerParameters(Map<String, Integer> indexes, int payloadIndex, Class<?>[] types) {

	private static final Set<Class<?>> INFRASTRUCTURE = Set.of(Acknowledgment.class, ConsumerRecordMetadata.class,
			MessageHeaders.class);

	static ListenerParameters of(Method method) {
		Map<String, Integer> indexes = new HashMap<>();
		@Nullable String @Nullable [] names = new DefaultParameterNameDiscoverer().getParameterNames(method);
		for (int i = 0; names != null && i < names.length; i++) {
			indexes.put(String.valueOf(names[i]), i);
		}
		return new ListenerParameters(indexes, findPayload(method), method.getParameterTypes());
	}

	private static int findPayload(Method method) {
		return find(method, (parameter) -> parameter.hasParameterAnnotation(Payload.class))
			.orElseGet(() -> find(method, ListenerParameters::mayBePayload).orElse(-1));
	}

	private static OptionalInt find(Method method, Predicate<MethodParameter> condition) {
		return IntStream.range(0, method.getParameterCount())
			.filter((index) -> condition.test(new MethodParameter(method, index)))
			.findFirst();
	}

	private static boolean mayBePayload(MethodParameter parameter) {
		Class<?> type = parameter.getParameterType();
		return !INFRASTRUCTURE.contains(type) && !Consumer.class.isAssignableFrom(type)
				&& !ConsumerRecord.class.isAssignableFrom(type) && type != ConsumerRecords.class
				&& !AdapterUtils.isKotlinContinuation(type) && !parameter.hasParameterAnnotation(Header.class)
				&& !parameter.hasParameterAnnotation(Headers.class);
	}

	Set<String> names() {
		return this.indexes.keySet();
	}

	int index(String name) {
		return this.indexes.getOrDefault(name, -1);
	}

	boolean isPayloadName(String name) {
		return this.payloadIndex >= 0 && index(name) == this.payloadIndex;
	}

	// Whether the value of a record is the payload without a conversion.
	boolean isPayload(@Nullable Object value) {
		return value != null
				&& (this.payloadIndex < 0 || ClassUtils.isAssignableValue(this.types[this.payloadIndex], value));
	}

	// Return arguments of which only the payload is set.
	@Nullable Object[] arguments(@Nullable Object payload) {
		@Nullable Object[] arguments = new Object[this.types.length];
		if (this.payloadIndex >= 0) {
			arguments[this.payloadIndex] = payload;
		}
		return arguments;
	}

}
