/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.context.annotation.Bean;

import dev.idempotency.memory.InMemoryIdempotencyStore;

/**
 * {@link AutoConfiguration Auto-configuration} for the in-memory store, which is used
 * only when the type of a store names it.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class)
@ConditionalOnIdempotency
@ConditionalOnStoreType(value = IdempotencyMemoryAutoConfiguration.TYPE, candidate = false)
public final class IdempotencyMemoryAutoConfiguration {

	static final String TYPE = "in-memory";

	private static final Log logger = LogFactory.getLog(IdempotencyMemoryAutoConfiguration.class);

	@Bean
	IdempotencyStoreFactory inMemoryIdempotencyStoreFactory() {
		return new StoreType(TYPE, null, (definition) -> {
			logger.warn("The idempotency store '" + definition.name() + "' is in memory. Its records are lost when "
					+ "this process ends, and other instances do not see them. Use 'in-memory' for tests only");
			return new InMemoryIdempotencyStore();
		});
	}

}
