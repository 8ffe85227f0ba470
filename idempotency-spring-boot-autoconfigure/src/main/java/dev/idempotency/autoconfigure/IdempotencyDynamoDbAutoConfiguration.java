/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

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
import org.springframework.util.unit.DataSize;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.autoconfigure.IdempotencyProperties.DynamoDb;
import dev.idempotency.autoconfigure.IdempotencyStoreFactory.Definition;
import dev.idempotency.dynamodb.DynamoDbIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;

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

	@Bean
	@ConditionalOnBean(DynamoDbClient.class)
	IdempotencyStoreFactory dynamoDbIdempotencyStoreFactory(ListableBeanFactory beanFactory,
			IdempotencyProperties properties) {
		return new StoreType(StoreType.DYNAMODB, "a DynamoDbClient",
				(definition) -> create(beanFactory, properties.result().maximumSize(), definition));
	}

	private static IdempotencyStore create(ListableBeanFactory beanFactory, DataSize maximumResult,
			Definition definition) {
		IdempotencyConfigurationException.check(maximumResult.compareTo(DynamoDbIdempotencyStore.MAX_RESULT_SIZE) <= 0,
				"'idempotency.result.maximum-size' is " + maximumResult + ", but an item of DynamoDB holds 400 KB.",
				"Set 'idempotency.result.maximum-size' to " + DynamoDbIdempotencyStore.MAX_RESULT_SIZE.toKilobytes()
						+ "KB or less.");
		DynamoDb settings = definition.dynamodb();
		DynamoDbClient client = Database.find(beanFactory, DynamoDbClient.class, "the idempotency store",
				settings.client(), definition.property("dynamodb.client"));
		return new DynamoDbIdempotencyStore(client, settings.table(), definition.timeout(), settings.maxClockSkew());
	}

	// The application may declare its store as an IdempotencyStore, so only the
	// object shows whether there is a table to check.
	@Bean
	LifecycleGroup dynamoDbIdempotencyTableCheck(StoreRegistry stores) {
		List<Lifecycle> checks = new ArrayList<>();
		stores.templates().forEach((name, template) -> {
			if (StoreTarget.of(template.store()) instanceof DynamoDbIdempotencyStore store) {
				checks.add(store.tableCheck(stores.definition(name).dynamodb().createTable()));
			}
		});
		return new LifecycleGroup(LifecycleGroup.BEFORE_CONTAINERS, checks);
	}

}
