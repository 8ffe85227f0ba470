/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.time.temporal.TemporalAccessor;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.core.BridgeMethodResolver;
import org.springframework.core.MethodParameter;
import org.springframework.core.ResolvableType;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.BeanReference;
import org.springframework.expression.spel.ast.CompoundExpression;
import org.springframework.expression.spel.ast.ConstructorReference;
import org.springframework.expression.spel.ast.Indexer;
import org.springframework.expression.spel.ast.InlineList;
import org.springframework.expression.spel.ast.InlineMap;
import org.springframework.expression.spel.ast.MethodReference;
import org.springframework.expression.spel.ast.Projection;
import org.springframework.expression.spel.ast.PropertyOrFieldReference;
import org.springframework.expression.spel.ast.Selection;
import org.springframework.expression.spel.ast.StringLiteral;
import org.springframework.expression.spel.ast.TypeReference;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.support.ReflectivePropertyAccessor;
import org.springframework.messaging.Message;
import org.springframework.util.ClassUtils;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Checks an expression against the types that the listener method declares. It finds
 * properties and methods that do not exist, which would otherwise fail for each record.
 * Members of interfaces, abstract classes and {@link Object} are not checked, because the
 * class of the value may have more members. Members of concrete classes are checked: if a
 * subclass has more members, the method must declare the subclass.
 *
 * @param method the listener method
 * @param targetClass the class of the listener
 * @param parameters the parameters of the method
 * @param batch whether the method receives batches
 */
record DeclaredTypes(Method method, Class<?> targetClass, ListenerParameters parameters, boolean batch) {

	private static final Properties PROPERTIES = new Properties();

	static final String VERSION = "a whole number of 64 bits, an instant, a date with a time zone, or a text of these";

	private static final List<Class<?>> VERSIONS = List.of(Byte.class, Short.class, Integer.class, Long.class,
			BigInteger.class, BigDecimal.class, CharSequence.class, Instant.class, OffsetDateTime.class,
			ZonedDateTime.class, Date.class);

	private static final List<Class<?>> TEXTS = List.of(CharSequence.class, Number.class, UUID.class, Enum.class,
			Boolean.class, Character.class, TemporalAccessor.class);

	void check(SpelNode expression, String subject) {
		checkReferences(expression, false, subject);
		type(expression, null, subject);
	}

	void checkText(SpelNode expression, String subject) {
		Class<?> type = type(expression, null, subject).resolve();
		if (type == null || type == Object.class || isText(ClassUtils.resolvePrimitiveIfNecessary(type))) {
			return;
		}
		// A class that extends or implements the type may be a text.
		boolean open = Modifier.isAbstract(type.getModifiers()) && !type.isArray()
				&& !Collection.class.isAssignableFrom(type) && !Map.class.isAssignableFrom(type);
		IdempotencyConfigurationException.check(open,
				subject + " yields a " + type.getTypeName() + ", which is not a text, number, date or UUID.",
				"Use a property that identifies the operation, like #payload.id.");
	}

	void checkVersion(SpelNode expression, String subject) {
		Class<?> type = type(expression, null, subject).resolve();
		Class<?> boxed = (type != null) ? ClassUtils.resolvePrimitiveIfNecessary(type) : Object.class;
		if (type != null
				&& VERSIONS.stream().noneMatch((one) -> one.isAssignableFrom(boxed) || boxed.isAssignableFrom(one))) {
			throw new IdempotencyConfigurationException(
					subject + " yields a " + type.getTypeName() + ", which is not " + VERSION + ".",
					"Use a property that grows with each change, like #payload.version.");
		}
	}

	// Whether equal values of a class have the same text, as values of a key must.
	static boolean isText(Class<?> type) {
		return TEXTS.stream().anyMatch((text) -> text.isAssignableFrom(type));
	}

	static Stream<SpelNode> children(SpelNode node) {
		return IntStream.range(0, node.getChildCount()).mapToObj(node::getChild);
	}

	// Finds references that no type can satisfy.
	private static void checkReferences(SpelNode node, boolean element, String subject) {
		if (node instanceof BeanReference bean) {
			throw new IdempotencyConfigurationException(
					subject + " names the bean '@" + bean.getName() + "', but expressions cannot use beans.",
					"Call a static method: T(com.example.Keys).of(#payload).");
		}
		String name = (node instanceof VariableReference) ? node.toStringAST() : "";
		if (name.equals("#root") || (name.equals("#this") && !element)) {
			throw new IdempotencyConfigurationException(subject + " uses '" + name + "'"
					+ (name.equals("#this") ? " outside a projection or selection" : "")
					+ ", which is always null there.", "Use #record, #payload, #headers or a parameter.");
		}
		boolean elements = element || node instanceof Projection || node instanceof Selection;
		children(node).forEach((child) -> checkReferences(child, elements, subject));
	}

	// The type of a node, NONE if it is not known. The first node of an expression has no
	// owner.
	private ResolvableType type(SpelNode node, @Nullable ResolvableType owner, String subject) {
		if (node instanceof CompoundExpression) {
			ResolvableType type = type(node.getChild(0), null, subject);
			for (int i = 1; i < node.getChildCount(); i++) {
				type = type(node.getChild(i), type, subject);
			}
			return type;
		}
		String problem = problem(node, owner);
		IdempotencyConfigurationException.check(problem == null, subject + " " + problem + ".",
				"Correct the expression, or declare the parameter with the type that has this member.");
		arguments(node).forEach((argument) -> type(argument, null, subject));
		if (node instanceof InlineList || node instanceof Projection) {
			return ResolvableType.forClass(List.class);
		}
		if (node instanceof InlineMap) {
			return ResolvableType.forClass(Map.class);
		}
		if (node instanceof VariableReference) {
			return variable(node.toStringAST().substring(1));
		}
		if (node instanceof StringLiteral) {
			return ResolvableType.forClass(String.class);
		}
		return (owner != null && owner.resolve() != null) ? memberType(node, owner) : ResolvableType.NONE;
	}

	// The problem of a node, null if no problem can be proven.
	private static @Nullable String problem(SpelNode node, @Nullable ResolvableType owner) {
		Class<?> type = (owner != null) ? checkable(owner) : null;
		if (node instanceof PropertyOrFieldReference property) {
			String name = property.getName();
			if (owner == null) {
				return "names '" + name + "' without a variable: '#payload." + name
						+ "' is a property of the payload, and '#" + name + "' a parameter";
			}
			if (PROPERTIES.find(owner, name) != ResolvableType.NONE) {
				return null;
			}
			if (Map.class.isAssignableFrom(owner.toClass())) {
				return "names the property '" + name + "' of a map: write ['" + name + "']";
			}
			return (type != null) ? "names the property '" + name + "', which " + type.getName() + " does not have"
					: null;
		}
		if (node instanceof MethodReference call) {
			if (owner == null) {
				return "calls '" + call.getName() + "' without a variable: '#payload." + call.getName()
						+ "(...)' is a method of the payload";
			}
			return (type != null && methods(type, call).findAny().isEmpty()) ? "calls the method '" + call.getName()
					+ "' with " + call.getChildCount() + " arguments, which " + type.getName() + " does not have"
					: null;
		}
		return null;
	}

	// The children that are expressions of their own. A name in the other nodes is a
	// property of an element, a key of the map, or part of the name of a type.
	private static Stream<SpelNode> arguments(SpelNode node) {
		if (node instanceof Projection || node instanceof Selection || node instanceof InlineMap
				|| node instanceof TypeReference) {
			return Stream.empty();
		}
		return children(node).skip((node instanceof ConstructorReference) ? 1 : 0)
			.filter((child) -> !(node instanceof Indexer && child instanceof PropertyOrFieldReference));
	}

	private static ResolvableType memberType(SpelNode node, ResolvableType owner) {
		if (node instanceof PropertyOrFieldReference property) {
			return PROPERTIES.find(owner, property.getName());
		}
		if (node instanceof MethodReference call) {
			List<ResolvableType> types = methods(owner.toClass(), call).map((method) -> result(method, owner))
				.distinct()
				.toList();
			return (types.size() == 1) ? types.get(0) : ResolvableType.NONE;
		}
		return (node instanceof Indexer) ? element(owner) : ResolvableType.NONE;
	}

	private static ResolvableType element(ResolvableType owner) {
		if (owner.isArray()) {
			return owner.getComponentType();
		}
		Class<?> type = owner.toClass();
		if (Map.class.isAssignableFrom(type)) {
			return owner.as(Map.class).getGeneric(1);
		}
		return List.class.isAssignableFrom(type) ? owner.as(List.class).getGeneric(0) : ResolvableType.NONE;
	}

	private ResolvableType variable(String name) {
		return switch (name) {
			case "record" -> record();
			case "headers" -> ResolvableType.forClassWithGenerics(Map.class, String.class, String.class);
			case "payload" -> payload();
			default -> argument(this.parameters.index(name));
		};
	}

	private ResolvableType argument(int index) {
		if (index < 0) {
			return ResolvableType.NONE;
		}
		ResolvableType type = ResolvableType
			.forMethodParameter(new MethodParameter(this.method, index).withContainingClass(this.targetClass));
		if (!this.batch) {
			return type;
		}
		return List.class.isAssignableFrom(type.toClass()) ? type.as(List.class).getGeneric(0) : ResolvableType.NONE;
	}

	private ResolvableType record() {
		return IntStream.range(0, this.method.getParameterCount())
			.mapToObj(this::argument)
			.filter((type) -> ConsumerRecord.class.isAssignableFrom(type.toClass()))
			.findFirst()
			.orElseGet(() -> ResolvableType.forClass(ConsumerRecord.class));
	}

	private ResolvableType payload() {
		int index = this.parameters.payloadIndex();
		ResolvableType type = (index >= 0) ? argument(index) : record();
		if (Message.class.isAssignableFrom(type.toClass())) {
			return type.as(Message.class).getGeneric(0);
		}
		return ConsumerRecord.class.isAssignableFrom(type.toClass()) ? type.as(ConsumerRecord.class).getGeneric(1)
				: type;
	}

	// The class of a type, null if values of the type may have more members.
	private static @Nullable Class<?> checkable(ResolvableType type) {
		Class<?> declared = type.resolve();
		if (declared == null || declared == Object.class || Map.class.isAssignableFrom(declared)) {
			return null;
		}
		boolean open = !declared.isArray() && !declared.isPrimitive() && Modifier.isAbstract(declared.getModifiers());
		// SpEL unwraps an Optional, and resolves static
		// members of the class that a Class represents.
		return (open || declared == Optional.class || declared == Class.class) ? null
				: ClassUtils.resolvePrimitiveIfNecessary(declared);
	}

	private static Stream<Method> methods(Class<?> type, MethodReference call) {
		int arguments = call.getChildCount();
		return Stream.of(type.getMethods())
			.filter((method) -> method.getName().equals(call.getName()))
			.filter((method) -> method.getParameterCount() == arguments
					|| (method.isVarArgs() && arguments >= method.getParameterCount() - 1));
	}

	// A class that inherits from a class that is not public has only bridge methods.
	private static ResolvableType result(Method found, ResolvableType owner) {
		Method method = BridgeMethodResolver.findBridgedMethod(found);
		return ResolvableType.forType(method.getGenericReturnType(), owner.as(method.getDeclaringClass()));
	}

	/**
	 * Finds properties as SpEL does when it evaluates an expression.
	 */
	private static final class Properties extends ReflectivePropertyAccessor {

		ResolvableType find(ResolvableType owner, String name) {
			Class<?> type = owner.toClass();
			if (type.isArray() && name.equals("length")) {
				return ResolvableType.forClass(int.class);
			}
			// An interface does not list the methods of Object.
			Method getter = findGetterForProperty(name, name.equals("class") ? Object.class : type, false);
			if (getter != null) {
				return result(getter, owner);
			}
			Field field = findField(name, type, false);
			return (field != null) ? ResolvableType.forType(field.getGenericType(), owner.as(field.getDeclaringClass()))
					: ResolvableType.NONE;
		}

	}

}
