package dev.idempotency.dynamodb;

import java.time.Duration;
import java.time.InstantSource;

import dev.idempotency.test.TestDynamoDb;

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

}
