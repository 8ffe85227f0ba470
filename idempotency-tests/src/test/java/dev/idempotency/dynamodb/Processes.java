/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.time.InstantSource;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.TestDynamoDb;

/**
 * Stores of other processes: they share the table and nothing else.
 */
final class Processes {

	private Processes() {
	}

	static DynamoDbIdempotencyStore another(TestDynamoDb dynamoDb) {
		return withClock(dynamoDb, Duration.ZERO, Duration.ZERO);
	}

	static DynamoDbIdempotencyStore withClock(TestDynamoDb dynamoDb, Duration ahead, Duration maxClockSkew) {
		return new DynamoDbIdempotencyStore(dynamoDb.client(), dynamoDb.table(), TestDynamoDb.TIMEOUT, maxClockSkew,
				InstantSource.offset(InstantSource.system(), ahead));
	}

	static boolean isAlive(DynamoDbIdempotencyStore store, ClaimRequest request) {
		return store.lookUp(request) instanceof Claim.InProgress;
	}

}
