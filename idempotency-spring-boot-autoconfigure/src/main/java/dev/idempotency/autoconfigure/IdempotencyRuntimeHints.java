/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.aot.hint.ExecutableMode;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.RuntimeHintsRegistrar;

/**
 * Registers the resources and methods that the library accesses by name.
 */
final class IdempotencyRuntimeHints implements RuntimeHintsRegistrar {

	@Override
	public void registerHints(RuntimeHints hints, @Nullable ClassLoader classLoader) {
		hints.resources()
			.registerPattern("dev/idempotency/jdbc/*/*.sql")
			.registerPattern("dev/idempotency/jdbc/*/*.yaml");
		hints.reflection()
			.registerTypeIfPresent(classLoader, "org.springframework.orm.jpa.JpaTransactionManager",
					(type) -> type.withMethod("getDataSource", List.of(), ExecutableMode.INVOKE))
			.registerTypeIfPresent(classLoader,
					"io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException",
					(type) -> type.withMethod("getStatus", List.of(), ExecutableMode.INVOKE))
			// Kafka's clients create these by their classes.
			.registerTypeIfPresent(classLoader, "dev.idempotency.listener.delivery.PolledRecordsInterceptor",
					MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS)
			.registerTypeIfPresent(classLoader, "dev.idempotency.producer.IdempotencyKeyInterceptor",
					MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS);
	}

}
