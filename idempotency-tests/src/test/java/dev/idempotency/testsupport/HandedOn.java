/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;
import org.springframework.kafka.config.KafkaListenerEndpoint;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConsumerSeekAware.ConsumerSeekCallback;
import org.springframework.kafka.listener.ContainerProperties.EOSMode;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.TopicPartitionOffset;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

/**
 * Checks that a decorator hands on each method of an interface to what it decorates, also
 * the methods that only the running version of Spring Kafka has.
 */
public final class HandedOn {

	private static final TopicPartition PARTITION = new TopicPartition("topic", 0);

	private static final ConsumerRecord<Object, Object> RECORD = new ConsumerRecord<>("topic", 0, 0, "key", "value");

	private static final Map<Class<?>, Object> ARGUMENTS = new HashMap<>();

	static {
		ARGUMENTS.put(Exception.class, new IllegalStateException("failure"));
		ARGUMENTS.put(ConsumerRecord.class, RECORD);
		ARGUMENTS.put(ConsumerRecords.class, new ConsumerRecords<>(Map.of(PARTITION, List.of(RECORD)), Map.of()));
		ARGUMENTS.put(List.class, List.of(RECORD));
		ARGUMENTS.put(Collection.class, List.of(PARTITION));
		ARGUMENTS.put(Map.class, Map.of(PARTITION, 0L));
		ARGUMENTS.put(Runnable.class, (Runnable) () -> {
		});
		ARGUMENTS.put(TopicPartitionOffset.class, new TopicPartitionOffset("topic", 0, 0L));
		ARGUMENTS.put(EOSMode.class, EOSMode.V2);
		ARGUMENTS.put(Duration.class, Duration.ZERO);
		ARGUMENTS.put(Pattern.class, Pattern.compile("topic"));
		ARGUMENTS.put(String[].class, new String[] { "topic" });
		ARGUMENTS.put(TopicPartitionOffset[].class, new TopicPartitionOffset[0]);
		ARGUMENTS.put(boolean.class, true);
		ARGUMENTS.put(int.class, 0);
		for (Class<?> type : List.of(Consumer.class, MessageListenerContainer.class, Acknowledgment.class,
				ConsumerSeekCallback.class, KafkaListenerEndpoint.class)) {
			ARGUMENTS.put(type, proxy((target, method, arguments) -> nothing(method), type));
		}
	}

	private HandedOn() {
	}

	/**
	 * Call each method of an interface at a decorator, and require that it calls the same
	 * method of what it decorates.
	 * @param type the interface
	 * @param decorator decorates an object
	 * @param except the methods that are not handed on, for example {@code "logger()"}
	 */
	@SuppressWarnings("unchecked")
	public static <T> void check(Class<T> type, UnaryOperator<T> decorator, String... except) {
		check(List.of(type), type, (object) -> decorator.apply((T) object), except);
	}

	/**
	 * Call each method of some interfaces at a decorator.
	 * @param types the interfaces
	 * @param kind one more interface that the decorated object has
	 * @param decorator decorates an object
	 * @param except the methods that are not handed on
	 */
	public static void check(List<Class<?>> types, Class<?> kind, UnaryOperator<Object> decorator, String... except) {
		List<String> calls = new ArrayList<>();
		Set<Class<?>> all = new LinkedHashSet<>(types);
		all.add(kind);
		Object decorated = decorator.apply(proxy((target, method, arguments) -> {
			calls.add(signature(method));
			return nothing(method);
		}, all.toArray(Class<?>[]::new)));
		Set<String> missing = types.stream()
			.flatMap((known) -> Arrays.stream(known.getMethods()))
			.filter((method) -> !Modifier.isStatic(method.getModifiers()) && !method.isBridge())
			.filter((method) -> {
				calls.clear();
				call(decorated, method);
				return !calls.contains(signature(method));
			})
			.map(HandedOn::signature)
			.collect(Collectors.toSet());
		assertThat(missing)
			.as("methods of " + types + " that " + decorated.getClass().getSimpleName() + " does not hand on")
			.containsExactlyInAnyOrder(except);
	}

	private static void call(Object decorated, Method method) {
		Object[] arguments = Arrays.stream(method.getParameterTypes())
			.map((parameter) -> argument(parameter, decorated, method))
			.toArray();
		try {
			method.invoke(decorated, arguments);
		}
		catch (InvocationTargetException ex) {
			// The default method of an interface may throw it.
		}
		catch (IllegalAccessException ex) {
			fail(ex);
		}
	}

	private static Object argument(Class<?> type, Object decorated, Method method) {
		// The type of the data of a listener.
		Class<?> actual = (type != Object.class) ? type
				: (decorated instanceof BatchMessageListener) ? List.class : ConsumerRecord.class;
		if (!ARGUMENTS.containsKey(actual)) {
			fail("No argument of type " + actual + " is known for " + method);
		}
		return ARGUMENTS.get(actual);
	}

	private static Object proxy(InvocationHandler handler, Class<?>... types) {
		return Proxy.newProxyInstance(HandedOn.class.getClassLoader(), types,
				(target, method, arguments) -> switch (method.getName()) {
					case "toString" -> "a proxy";
					case "hashCode" -> System.identityHashCode(target);
					case "equals" -> target == arguments[0];
					default -> handler.invoke(target, method, arguments);
				});
	}

	private static Object nothing(Method method) {
		Class<?> type = method.getReturnType();
		if (type == boolean.class) {
			return false;
		}
		if (type == int.class) {
			return 0;
		}
		if (type == Set.class) {
			return Set.of();
		}
		return (type == ConsumerRecord.class || type == ConsumerRecords.class) ? ARGUMENTS.get(type) : null;
	}

	private static String signature(Method method) {
		return method.getName() + Arrays.stream(method.getParameterTypes())
			.map(Class::getSimpleName)
			.collect(Collectors.joining(", ", "(", ")"));
	}

}
