package dev.idempotency.dynamodb;

import java.time.Duration;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.test.TestDynamoDb;

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

	@Override
	public boolean hasClock() {
		return false;
	}

	// Instants of this JVM are cut to milliseconds.
	@Override
	public Duration precision() {
		return Duration.ofMillis(1);
	}

}
