/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * The members of one class that a repair accesses by their names. The names are declared
 * in the repair only: the runtime hints are derived from them.
 */
final class Repair {

	private static final Log logger = LogFactory.getLog(Repair.class);

	final String type;

	final List<Name> names;

	private final Set<Class<?>> warned = ConcurrentHashMap.newKeySet();

	/**
	 * Create a repair.
	 * @param type the class that declares the members
	 * @param names the members
	 */
	Repair(String type, Name... names) {
		this.type = type;
		this.names = List.of(names);
	}

	static Name field(String name, Class<?> type) {
		return new Name(name, "the field '" + name + "'",
				(declaring) -> ReflectionUtils.findField(declaring, name, type));
	}

	// A field that the repair writes to. No JDK may be asked to change a final one.
	static Name variable(String name, Class<?> type) {
		return new Name(name, "the non-final field '" + name + "'", (declaring) -> {
			Field field = ReflectionUtils.findField(declaring, name, type);
			return (field != null && Modifier.isFinal(field.getModifiers())) ? null : field;
		});
	}

	static Name method(String name, Class<?>... parameterTypes) {
		String description = Stream.of(parameterTypes)
			.map(Class::getSimpleName)
			.collect(Collectors.joining(", ", "the method '" + name + "(", ")'"));
		return new Name(name, description, (declaring) -> ReflectionUtils.findMethod(declaring, name, parameterTypes));
	}

	/**
	 * Return the accessible members of a class.
	 */
	@Nullable Members find(Class<?> actual) {
		Map<String, AccessibleObject> found = new HashMap<>();
		for (Name name : this.names) {
			AccessibleObject member = name.finder().apply(actual);
			if (member == null) {
				return null;
			}
			member.setAccessible(true);
			found.put(name.name(), member);
		}
		return new Members(found);
	}

	/**
	 * Return the accessible members of a class, or log once what is missing, and what
	 * happens without it.
	 */
	@Nullable Members findOrWarn(Class<?> actual, String consequence) {
		Members found = find(actual);
		if (found == null && this.warned.add(actual)) {
			logger.warn(missing(actual) + ". " + consequence);
		}
		return found;
	}

	/**
	 * Return which members a class does not have: a sentence without its full stop.
	 */
	String missing(Class<?> actual) {
		return this.names.stream()
			.filter((name) -> name.finder().apply(actual) == null)
			.map(Name::description)
			.collect(Collectors.joining(" and ", ClassUtils.getShortName(actual) + " does not have ",
					" in this version"));
	}

	void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		if (!ClassUtils.isPresent(this.type, classLoader)) {
			return;
		}
		Class<?> known = ClassUtils.resolveClassName(this.type, classLoader);
		for (Name name : this.names) {
			AccessibleObject found = name.finder().apply(known);
			if (found instanceof Field field) {
				hints.reflection().registerField(field);
			}
			else if (found instanceof Method method) {
				hints.reflection().registerMethod(method, ExecutableMode.INVOKE);
			}
		}
	}

	/**
	 * A member by its name.
	 */
	record Name(String name, String description, Function<Class<?>, @Nullable AccessibleObject> finder) {

	}

	/**
	 * The accessible members of one class.
	 */
	record Members(Map<String, AccessibleObject> found) {

		@Nullable Object get(String field, Object target) {
			return ReflectionUtils.getField((Field) member(field), target);
		}

		void set(String variable, Object target, Object value) {
			ReflectionUtils.setField((Field) member(variable), target, value);
		}

		@Nullable Object call(String method, Object target, Object... arguments) {
			return ReflectionUtils.invokeMethod((Method) member(method), target, arguments);
		}

		private AccessibleObject member(String name) {
			return Objects.requireNonNull(this.found.get(name), name);
		}

	}

}
