/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.util.Optional;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.TestDynamoDb;

/**
 * The contract of {@link DynamoDbIdempotencyStore}.
 */
class DynamoDbStoreContractTests extends IdempotencyStoreContract {

	// Not closed: jqwik runs a part of the tests and does not call Jupiter's callbacks.
	private static final TestDynamoDb dynamoDb = TestDynamoDb.create();

	@Override
	public DynamoDbIdempotencyStore store() {
		return dynamoDb.store();
	}

	// DynamoDB Local checks no permissions, but it refuses
	// requests for a table that it does not have.
	@Override
	public Optional<IdempotencyStore> refused() {
		return Optional
			.of(new DynamoDbIdempotencyStore(dynamoDb.client(), "missing", TestDynamoDb.TIMEOUT, Duration.ZERO));
	}

	@Override
	public boolean hasClock() {
		return false;
	}

	@Override
	public Optional<IdempotencyStore> storeWithClock(Duration ahead) {
		return Optional.of(Processes.withClock(dynamoDb, ahead, Duration.ZERO));
	}

	// Instants of this JVM are cut to milliseconds.
	@Override
	public Duration precision() {
		return Duration.ofMillis(1);
	}

}
