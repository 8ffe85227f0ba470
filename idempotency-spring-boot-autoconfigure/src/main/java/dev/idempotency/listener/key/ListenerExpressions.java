/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.lang.reflect.Method;
import java.util.Objects;
import java.util.Set;
import java.util.function.BiFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.util.StringValueResolver;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Idempotent;
import dev.idempotency.MissingKeyPolicy;

/**
 * The expressions of the {@link Idempotent} annotation of one listener method, parsed and
 * checked once at startup.
 *
 * @param parameters the parameters of the method
 * @param key the expression of the key
 * @param fingerprint the expression of the fingerprint
 * @param versions evaluates the version
 * @param condition the expression of the condition
 * @param isKeyless whether the annotation declares that the records have no key
 * @since 0.1.0
 */
public record ListenerExpressions(ListenerParameters parameters, @Nullable RecordExpression key,
		@Nullable RecordExpression fingerprint, @Nullable RecordVersions versions, @Nullable RecordExpression condition,
		boolean isKeyless) {

	// The key of a dead letter is its coordinates, so the expressions for key and
	// fingerprint are ignored.
	public static ListenerExpressions of(Idempotent annotation, StringValueResolver placeholders, Method method,
			Class<?> targetClass, String listener, boolean batch, boolean deadLetter) {
		ListenerParameters parameters = ListenerParameters.of(method);
		DeclaredTypes types = new DeclaredTypes(method, targetClass, parameters, batch);
		BiFunction<String, String, @Nullable RecordExpression> parser = (text,
				attribute) -> parse(placeholders.resolveStringValue(text), attribute, listener, types);
		RecordExpression key = deadLetter ? null : parser.apply(annotation.key(), "key");
		RecordExpression fingerprint = deadLetter ? null : parser.apply(annotation.fingerprint(), "fingerprint");
		RecordExpression version = deadLetter ? null : parser.apply(annotation.version(), "version");
		IdempotencyConfigurationException.check(version == null || key != null, "@Idempotent on " + listener
				+ " has a version but no key. The versions of different entities would not be told apart, and those "
				+ "of one entity not compared.",
				"Set 'key' to the identity of the entity whose state the records replace.");
		return new ListenerExpressions(parameters, key, fingerprint,
				(version != null) ? new RecordVersions(version, annotation.onStale()) : null,
				parser.apply(annotation.condition(), "condition"),
				key == null && annotation.onMissingKey() == MissingKeyPolicy.OFFSET);
	}

	private static @Nullable RecordExpression parse(@Nullable String text, String attribute, String listener,
			DeclaredTypes types) {
		if (text == null || text.isEmpty()) {
			return null;
		}
		try {
			RecordExpression expression = RecordExpression.parse(text, attribute, listener, types.parameters());
			expression.check(types, attribute, listener);
			return expression;
		}
		catch (IdempotencyConfigurationException ex) {
			if (AnnotatedElementUtils.hasAnnotation(types.method(), Idempotent.class)) {
				throw ex;
			}
			throw new IdempotencyConfigurationException(String.valueOf(ex.getMessage()), ex.action()
					+ " The annotation of the class applies to all its listener methods: if the expression is meant for "
					+ "the other methods, annotate this method with @Idempotent of its own.");
		}
	}

	public boolean hasKey() {
		return this.key != null;
	}

	public @Nullable String keyText() {
		return (this.key != null) ? this.key.toString() : null;
	}

	public @Nullable String fingerprintText() {
		return (this.fingerprint != null) ? this.fingerprint.toString() : null;
	}

	public boolean hasFingerprint() {
		return this.fingerprint != null;
	}

	public boolean hasVersion() {
		return this.versions != null;
	}

	Set<String> variables() {
		return Stream
			.of(this.key, this.fingerprint, this.condition, (this.versions != null) ? this.versions.expression() : null)
			.filter(Objects::nonNull)
			.flatMap((expression) -> expression.variables().stream())
			.collect(Collectors.toSet());
	}

}
