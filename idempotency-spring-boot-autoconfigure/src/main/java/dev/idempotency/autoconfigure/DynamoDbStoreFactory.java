package dev.idempotency.autoconfigure;

import java.util.List;

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
		return new DynamoDbIdempotencyStore(find(settings, definition.property("dynamodb.client")), settings.table(),
				definition.timeout(), settings.maxClockSkew());
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

	private DynamoDbClient find(DynamoDb settings, String property) {
		if (settings.client() != null) {
			return Database.named(this.beanFactory, settings.client(), DynamoDbClient.class, property);
		}
		DynamoDbClient client = this.beanFactory.getBeanProvider(DynamoDbClient.class).getIfUnique();
		if (client == null) {
			throw new IdempotencyConfigurationException(
					"There are several DynamoDbClient beans for the idempotency store: "
							+ List.of(this.beanFactory.getBeanNamesForType(DynamoDbClient.class)) + ".",
					"Set '" + property + "' to one of them, or mark one as @Primary.");
		}
		return client;
	}

}
