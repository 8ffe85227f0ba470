/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.Internal;
import dev.idempotency.autoconfigure.IdempotencyProperties.DynamoDb;
import dev.idempotency.autoconfigure.IdempotencyProperties.Jdbc;
import dev.idempotency.autoconfigure.IdempotencyProperties.Redis;
import dev.idempotency.store.IdempotencyStore;

/**
 * Creates the stores of one type. An auto-configuration declares it as a bean when the
 * libraries and the connection of the store are available. It must be ordered before
 * {@link IdempotencyAutoConfiguration}.
 *
 * @since 0.1.0
 */
public interface IdempotencyStoreFactory {

	/**
	 * Return the value of {@code idempotency.store.type} that selects this type.
	 * @return lower-case letters, digits and hyphens
	 */
	String type();

	/**
	 * Return the connection that makes this type a candidate when the property is not
	 * set.
	 * @return the connection with its article, such as "a DataSource"; {@code null} if
	 * the property must name this type
	 */
	@Nullable String candidate();

	/**
	 * Create a store.
	 * @param definition the settings of the store
	 * @return the store, closed by its context if it is {@link AutoCloseable}
	 * @throws IdempotencyConfigurationException if the settings cannot work
	 */
	IdempotencyStore create(Definition definition);

	/**
	 * The settings of a store.
	 *
	 * @param name the name in {@code idempotency.stores}, or {@code default}
	 * @param prefix the prefix of its properties, for messages and for properties of
	 * other types of stores: {@code idempotency} or {@code idempotency.stores.<name>}
	 * @param timeout the maximum duration of a call
	 * @param jdbc the settings of a JDBC store
	 * @param redis the settings of a Redis store
	 * @param dynamodb the settings of a DynamoDB store
	 */
	record Definition(String name, String prefix, Duration timeout, @Internal Jdbc jdbc, @Internal Redis redis,
			@Internal DynamoDb dynamodb) {

		@Internal
		public Definition {
		}

		/**
		 * Return the name of a property of this store.
		 * @param name the name after the prefix
		 * @return the whole name
		 */
		public String property(String name) {
			return this.prefix + '.' + name;
		}

	}

}
