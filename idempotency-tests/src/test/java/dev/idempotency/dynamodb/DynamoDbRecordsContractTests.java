/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import dev.idempotency.contract.IdempotencyRecordsContract;
import dev.idempotency.testsupport.TestDynamoDb;

/**
 * The contract of {@link DynamoDbIdempotencyStore} for operators.
 */
class DynamoDbRecordsContractTests extends IdempotencyRecordsContract {

	private static final TestDynamoDb dynamoDb = TestDynamoDb.create();

	@Override
	public DynamoDbIdempotencyStore store() {
		return dynamoDb.store();
	}

	@Override
	public boolean hasClock() {
		return false;
	}

}
