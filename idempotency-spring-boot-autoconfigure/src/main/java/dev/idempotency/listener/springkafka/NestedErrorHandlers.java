/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import org.springframework.kafka.listener.CommonDelegatingErrorHandler;
import org.springframework.kafka.listener.CommonErrorHandler;
import org.springframework.kafka.listener.CommonMixedErrorHandler;

/**
 * Reads the error handlers that another error handler calls.
 * <ul>
 * <li>Repairs: an error handler must not retry rejected records. It can be configured so,
 * but Spring Kafka does not offer the error handlers that
 * {@code CommonDelegatingErrorHandler} and {@code CommonMixedErrorHandler} call.
 * <li>Needed by: all versions of Spring Kafka.
 * <li>Ended by: no release yet.
 * <li>Without it: a warning is logged when a container is protected, and its error
 * handler may retry rejected records.
 * </ul>
 */
public final class NestedErrorHandlers {

	private static final String DEFAULT = "defaultErrorHandler";

	private static final String DELEGATES = "delegates";

	private static final String RECORDS = "recordErrorHandler";

	private static final String BATCHES = "batchErrorHandler";

	private static final String WITHOUT = "Its error handlers may therefore retry rejected records. Add "
			+ "OperationRejectedException to the exceptions that they do not retry";

	static final Repair DELEGATING = new Repair("org.springframework.kafka.listener.CommonDelegatingErrorHandler",
			Repair.field(DEFAULT, CommonErrorHandler.class), Repair.field(DELEGATES, Map.class));

	static final Repair MIXED = new Repair("org.springframework.kafka.listener.CommonMixedErrorHandler",
			Repair.field(RECORDS, CommonErrorHandler.class), Repair.field(BATCHES, CommonErrorHandler.class));

	private NestedErrorHandlers() {
	}

	/**
	 * Return the error handlers that an error handler calls.
	 * @param handler the error handler
	 * @return the error handlers, empty if it calls none or if they cannot be read
	 */
	public static Collection<?> of(Object handler) {
		if (handler instanceof CommonDelegatingErrorHandler) {
			List<Object> nested = new ArrayList<>();
			Repair.Members members = DELEGATING.findOrWarn(handler.getClass(), WITHOUT);
			if (members != null) {
				nested.add(read(members, DEFAULT, handler));
				nested.addAll(((Map<?, ?>) read(members, DELEGATES, handler)).values());
			}
			return nested;
		}
		Repair.Members members = (handler instanceof CommonMixedErrorHandler)
				? MIXED.findOrWarn(handler.getClass(), WITHOUT) : null;
		return (members != null) ? List.of(read(members, RECORDS, handler), read(members, BATCHES, handler))
				: List.of();
	}

	private static Object read(Repair.Members members, String field, Object handler) {
		return Objects.requireNonNull(members.get(field, handler));
	}

}
