/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.springkafka;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;
import org.springframework.kafka.listener.adapter.RecordFilterStrategy;
import org.springframework.util.ClassUtils;

/**
 * Registers the members that the repairs access by their names.
 */
final class SpringKafkaRuntimeHints implements RuntimeHintsRegistrar {

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		if (ClassUtils.isPresent("org.springframework.kafka.listener.CommonErrorHandler", classLoader)) {
			repairs().forEach((repair) -> repair.registerHints(hints, classLoader));
			// RecordFilters asks which type declares a method. Spring registers the types
			// of the application's beans.
			hints.reflection().registerType(RecordFilterStrategy.class);
		}
	}

	static List<Repair> repairs() {
		return List.of(BindingRetries.REPAIR, FailedResults.REPAIR, NestedErrorHandlers.DELEGATING,
				NestedErrorHandlers.MIXED, PartitionRetryState.REPAIR, RecordFilters.REPAIR, RetainedPartitions.REPAIR);
	}

}
