/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.util.List;
import java.util.StringJoiner;

import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationException;
import org.springframework.util.StringUtils;

import dev.idempotency.IdempotencyKey;

/**
 * Resolves the idempotency key of a record from the expression, else from the first
 * header that the record has. A source that has an unusable key ends the search, because
 * the next source would identify another operation.
 *
 * @param expression the expression, {@code null} if there is none
 * @param headers the names of the headers whose texts are one key, in order
 */
record KeyResolver(@Nullable RecordExpression expression, List<String[]> headers) {

	static KeyResolver of(@Nullable RecordExpression expression, List<String> headers) {
		return new KeyResolver(expression, headers.stream().map((name) -> name.split("\\+")).toList());
	}

	String resolve(RecordContext context, Headers recordHeaders) {
		String key = (this.expression != null) ? evaluate(this.expression, context) : null;
		for (int i = 0; key == null && i < this.headers.size(); i++) {
			key = join(this.headers.get(i), recordHeaders);
		}
		if (key == null) {
			throw new UnusableKeyException("neither the expression nor a header has one", null);
		}
		String problem = IdempotencyKey.problem(key);
		if (problem != null) {
			throw new UnusableKeyException("the key " + problem, null);
		}
		return key;
	}

	private static @Nullable String join(String[] names, Headers headers) {
		if (names.length == 1) {
			return TextHeaders.text(headers, names[0]);
		}
		StringJoiner key = new StringJoiner(" ");
		for (String name : names) {
			String text = TextHeaders.text(headers, name);
			if (text == null) {
				return null;
			}
			// A blank part would give all records without that part the same key.
			if (!StringUtils.hasText(text)) {
				throw new UnusableKeyException("the header '" + name + "' is blank", null);
			}
			// "a b" + "c" and "a" + "b c" would otherwise be the same key.
			key.add(text.replace("%", "%25").replace(" ", "%20"));
		}
		return key.toString();
	}

	private static @Nullable String evaluate(RecordExpression expression, RecordContext context) {
		try {
			Object value = expression.evaluate(context);
			return (value != null) ? expression.text(value) : null;
		}
		catch (EvaluationException ex) {
			throw new UnusableKeyException("the expression '" + expression + "' failed", ex);
		}
	}

}
