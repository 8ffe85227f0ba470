/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.temporal.TemporalAccessor;
import java.util.Date;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;
import org.springframework.expression.EvaluationException;

import dev.idempotency.IdempotencyVersionUnusableException;
import dev.idempotency.StalePolicy;
import dev.idempotency.template.OperationVersion;

/**
 * Evaluates the version of a record. Equal versions must be equal numbers and later ones
 * larger numbers, so types that would lose precision or have no time zone are refused.
 *
 * @param expression the expression
 * @param onStale the reaction to a version that is too low
 */
record RecordVersions(RecordExpression expression, StalePolicy onStale) {

	private static final Pattern NUMBER = Pattern.compile("[+-]?[0-9]{1,19}");

	OperationVersion of(RecordContext context, Object origin) {
		Object value;
		try {
			value = this.expression.evaluate(context);
		}
		catch (EvaluationException ex) {
			throw unusable("fails: " + ex.getMessage(), origin, "Correct the expression", ex);
		}
		Long number = (value != null) ? number(value) : null;
		if (number == null) {
			throw unusable("yields " + ((value != null) ? "an unsuitable " + value.getClass().getName() : "null"),
					origin, "It must yield " + DeclaredTypes.VERSION, null);
		}
		return new OperationVersion(number, this.onStale);
	}

	private IdempotencyVersionUnusableException unusable(String problem, Object origin, String action,
			@Nullable RuntimeException reason) {
		return new IdempotencyVersionUnusableException("The version '" + this.expression + "' " + problem + " ("
				+ origin + "). The record is rejected, because it could replace newer content. " + action, reason);
	}

	private static @Nullable Long number(Object value) {
		try {
			if (value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte) {
				return ((Number) value).longValue();
			}
			if (value instanceof BigInteger number) {
				return number.longValueExact();
			}
			if (value instanceof BigDecimal number) {
				return number.longValueExact();
			}
			if (value instanceof CharSequence text) {
				return NUMBER.matcher(text).matches() ? Long.parseLong(text.toString())
						: nanos(ZonedDateTime.parse(text).toInstant());
			}
			if (value instanceof Date date) {
				return nanos(date.toInstant());
			}
			return (value instanceof TemporalAccessor time) ? nanos(Instant.from(time)) : null;
		}
		// A java.sql.Date has no time and throws an UnsupportedOperationException.
		catch (ArithmeticException | NumberFormatException | DateTimeException | UnsupportedOperationException ex) {
			return null;
		}
	}

	private static long nanos(Instant instant) {
		return Math.addExact(Math.multiplyExact(instant.getEpochSecond(), TimeUnit.SECONDS.toNanos(1)),
				instant.getNano());
	}

}
