package dev.idempotency.autoconfigure;

import org.springframework.beans.factory.ListableBeanFactory;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.DynamoDb;
import dev.idempotency.dynamodb.DynamoDbIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;

/**
 * Creates DynamoDB stores.
 */
final class DynamoDbStoreFactory implements IdempotencyStoreFactory {

	static final String TYPE = "dynamodb";

	private final ListableBeanFactory beanFactory;

	private final IdempotencyProperties properties;

	DynamoDbStoreFactory(ListableBeanFactory beanFactory, IdempotencyProperties properties) {
		this.beanFactory = beanFactory;
		this.properties = properties;
	}

	@Override
	public String type() {
		return TYPE;
	}

	@Override
	public String candidate() {
		return "a DynamoDbClient";
	}

	@Override
	public IdempotencyStore create(Definition definition) {
		requireFittingResults();
		DynamoDb settings = definition.dynamodb();
		DynamoDbClient client = Database.find(this.beanFactory, DynamoDbClient.class, "the idempotency store",
				settings.client(), definition.property("dynamodb.client"));
		return new DynamoDbIdempotencyStore(client, settings.table(), definition.timeout(), settings.maxClockSkew());
	}

	private void requireFittingResults() {
		if (this.properties.result().maximumSize().compareTo(DynamoDbIdempotencyStore.MAX_RESULT_SIZE) > 0) {
			throw new IdempotencyConfigurationException(
					"'idempotency.result.maximum-size' is " + this.properties.result().maximumSize()
							+ ", but an item of DynamoDB holds 400 KB.",
					"Set 'idempotency.result.maximum-size' to " + DynamoDbIdempotencyStore.MAX_RESULT_SIZE.toKilobytes()
							+ "KB or less.");
		}
	}

}
