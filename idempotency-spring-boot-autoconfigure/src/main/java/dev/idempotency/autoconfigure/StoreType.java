/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.IdempotencyStore;

/**
 * A type of store of this library.
 *
 * @param type the value of {@code idempotency.store.type}
 * @param candidate the connection that makes it a candidate, {@code null} if there is
 * none
 * @param creator creates a store
 */
record StoreType(String type, @Nullable String candidate,
		Function<Definition, IdempotencyStore> creator) implements IdempotencyStoreFactory {

	static final String DYNAMODB = "dynamodb";

	static final String JDBC = "jdbc";

	static final String REDIS = "redis";

	@Override
	public IdempotencyStore create(Definition definition) {
		return this.creator.apply(definition);
	}

}
