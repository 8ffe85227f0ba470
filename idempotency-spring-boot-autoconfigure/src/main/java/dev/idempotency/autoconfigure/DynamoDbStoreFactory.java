package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.util.unit.DataSize;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.DynamoDb;
import dev.idempotency.autoconfigure.IdempotencyStoreFactory.Definition;
import dev.idempotency.dynamodb.DynamoDbIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;

/**
 * Creates DynamoDB stores.
 */
final class DynamoDbStoreFactory {

	static final String TYPE = "dynamodb";

	private DynamoDbStoreFactory() {
	}

	static IdempotencyStore create(ListableBeanFactory beanFactory, DataSize maximumResult, Definition definition) {
		requireFittingResults(maximumResult);
		DynamoDb settings = definition.dynamodb();
		DynamoDbClient client = Database.find(beanFactory, DynamoDbClient.class, "the idempotency store",
				settings.client(), definition.property("dynamodb.client"));
		return new DynamoDbIdempotencyStore(client, settings.table(), definition.timeout(), settings.maxClockSkew());
	}

	private static void requireFittingResults(DataSize maximum) {
		if (maximum.compareTo(DynamoDbIdempotencyStore.MAX_RESULT_SIZE) > 0) {
			throw new IdempotencyConfigurationException(
					"'idempotency.result.maximum-size' is " + maximum + ", but an item of DynamoDB holds 400 KB.",
					"Set 'idempotency.result.maximum-size' to " + DynamoDbIdempotencyStore.MAX_RESULT_SIZE.toKilobytes()
							+ "KB or less.");
		}
	}

}
