package dev.idempotency.autoconfigure;

import java.util.ArrayList;
import java.util.List;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.Lifecycle;
import org.springframework.context.annotation.Bean;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.dynamodb.DynamoDbIdempotencyStore;

/**
 * {@link AutoConfiguration Auto-configuration} for DynamoDB stores and for the checks of
 * their tables. The table of a {@link DynamoDbIdempotencyStore} that the application
 * declares is checked as well.
 *
 * @since 0.1.0
 */
@AutoConfiguration(before = IdempotencyAutoConfiguration.class,
		afterName = "io.awspring.cloud.autoconfigure.dynamodb.DynamoDbAutoConfiguration")
@ConditionalOnClass(DynamoDbClient.class)
@ConditionalOnIdempotency
@EnableConfigurationProperties(IdempotencyProperties.class)
public final class IdempotencyDynamoDbAutoConfiguration {

	// Before the listener containers, which have Integer.MAX_VALUE - 100.
	private static final int CHECK_PHASE = Integer.MAX_VALUE / 2;

	@Bean
	@ConditionalOnBean(DynamoDbClient.class)
	IdempotencyStoreFactory dynamoDbIdempotencyStoreFactory(ListableBeanFactory beanFactory,
			IdempotencyProperties properties) {
		return new StoreType(DynamoDbStoreFactory.TYPE, "a DynamoDbClient", (definition) -> DynamoDbStoreFactory
			.create(beanFactory, properties.result().maximumSize(), definition));
	}

	// The application may declare its store as an IdempotencyStore, so only the
	// object shows whether there is a table to check.
	@Bean
	LifecycleGroup dynamoDbIdempotencyTableCheck(StoreRegistry stores) {
		List<Lifecycle> checks = new ArrayList<>();
		stores.templates().forEach((name, template) -> {
			if (StoreTarget.of(template.store()) instanceof DynamoDbIdempotencyStore store) {
				checks.add(store.tableCheck(stores.isTableCreated(name)));
			}
		});
		return new LifecycleGroup(CHECK_PHASE, checks);
	}

}
