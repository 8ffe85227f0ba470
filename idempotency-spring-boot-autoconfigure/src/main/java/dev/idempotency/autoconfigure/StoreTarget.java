/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.Optional;

import org.springframework.aop.framework.AopProxyUtils;

import dev.idempotency.dynamodb.DynamoDbIdempotencyStore;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.migration.MigratingStore;
import dev.idempotency.redis.RedisIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;

/**
 * Finds the store behind proxies and migrations, whose class says what it needs: a
 * transaction manager for its database, or checks of its servers. A store may have a
 * proxy because of an aspect of the application, or because a test injects faults.
 */
final class StoreTarget {

	private StoreTarget() {
	}

	// Return the store that is written.
	static IdempotencyStore of(IdempotencyStore store) {
		return withoutProxies(MigratingStore.target(store));
	}

	// Return the property that tells the records of two stores apart, if both have the
	// same records.
	static Optional<String> sharedRecords(IdempotencyStore one, IdempotencyStore other) {
		IdempotencyStore first = of(one);
		IdempotencyStore second = of(other);
		if (first instanceof JdbcIdempotencyStore jdbc && second instanceof JdbcIdempotencyStore same
				&& jdbc.hasSameRecords(same)) {
			return Optional.of("jdbc.table");
		}
		if (first instanceof RedisIdempotencyStore redis && second instanceof RedisIdempotencyStore same
				&& redis.hasSameRecords(same)) {
			return Optional.of("redis.key-prefix");
		}
		return (first instanceof DynamoDbIdempotencyStore dynamoDb && second instanceof DynamoDbIdempotencyStore same
				&& dynamoDb.hasSameRecords(same)) ? Optional.of("dynamodb.table") : Optional.empty();
	}

	static IdempotencyStore withoutProxies(IdempotencyStore store) {
		IdempotencyStore current = store;
		while (AopProxyUtils.getSingletonTarget(current) instanceof IdempotencyStore target) {
			current = target;
		}
		return current;
	}

}
