/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.lang.reflect.Method;
import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.util.ReflectionUtils;

/**
 * Reads the filter of a listener adapter.
 * <ul>
 * <li>Repairs: a filter that overrides {@code filterBatch} may return other records than
 * those that were polled, so that a batch listener cannot be protected. Spring Kafka does
 * not offer the filter of an adapter.
 * <li>Needed by: all versions of Spring Kafka.
 * <li>Ended by: no release yet.
 * <li>Without it: the start of a batch listener with a filter is refused, with a sentence
 * that names the missing method.
 * </ul>
 */
public final class RecordFilters {

	private static final String FILTER = "getRecordFilterStrategy";

	static final Repair REPAIR = new Repair(
			"org.springframework.kafka.listener.adapter.AbstractFilteringMessageListener", Repair.method(FILTER));

	private RecordFilters() {
	}

	/**
	 * Return why a batch listener with a filter cannot be protected.
	 * @param adapter the listener adapter with the filter
	 * @return the end of a sentence, {@code null} if it can be protected
	 */
	public static @Nullable String problem(Object adapter) {
		Repair.Members members = REPAIR.find(adapter.getClass());
		if (members == null) {
			return "the RecordFilterStrategy of its container cannot be read, because "
					+ REPAIR.missing(adapter.getClass());
		}
		Object filter = members.call(FILTER, adapter);
		// Spring Kafka's own method removes records from the list that it receives.
		Method method = (filter != null) ? ReflectionUtils.findMethod(filter.getClass(), "filterBatch", List.class)
				: null;
		return (method == null || method.getDeclaringClass() == RecordFilterStrategy.class) ? null
				: "the RecordFilterStrategy of its container overrides filterBatch, so the remaining records cannot be "
						+ "identified";
	}

}
