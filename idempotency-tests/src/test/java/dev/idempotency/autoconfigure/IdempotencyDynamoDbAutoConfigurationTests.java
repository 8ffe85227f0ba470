/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

import dev.idempotency.Mode;
import dev.idempotency.dynamodb.DynamoDbIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link IdempotencyDynamoDbAutoConfiguration}.
 */
class IdempotencyDynamoDbAutoConfigurationTests {

	private final String table = Servers.unique("configured-");

	private final ApplicationContextRunner runner = Contexts.without(DataSourceAutoConfiguration.class)
		.withConfiguration(AutoConfigurations.of(IdempotencyDynamoDbAutoConfiguration.class))
		.withUserConfiguration(Client.class)
		.withPropertyValues("idempotency.dynamodb.table=" + this.table, "idempotency.store.timeout=10s",
				"idempotency.lease=60s");

	private FailureAnalysis failure(String... properties) {
		return Contexts.failure(this.runner.withPropertyValues(properties));
	}

	@Test
	void clientOfTheApplicationIsUsedAndTheTableIsCreated() {
		try (Logs logs = new Logs()) {
			this.runner.withPropertyValues("idempotency.dynamodb.create-table=true").run((context) -> {
				assertThat(context).hasNotFailed();
				assertThat(context.getBean(IdempotencyStore.class)).isInstanceOf(DynamoDbIdempotencyStore.class)
					.satisfies((store) -> assertThat(store.warning()).isEmpty());
				IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
				assertThat(template.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), new TextCodec(),
						() -> "done"))
					.isEqualTo(new IdempotentResult<>("done", false));
			});
			assertThat(logs.messages("WARN")).noneMatch((message) -> message.contains(this.table));
		}
	}

	@Test
	@Tag("promise-12")
	void missingTableFailsTheStart() {
		FailureAnalysis analysis = failure();
		assertThat(analysis.getDescription())
			.isEqualTo("The DynamoDB table '" + this.table + "' of the idempotency store does not exist.");
		assertThat(analysis.getAction()).startsWith("Create the table with the partition key 'id' of the type String")
			.contains("'idempotency.dynamodb.create-table'");
	}

	@Test
	@Tag("promise-12")
	void storesWithTheSameTableAreRefused() {
		FailureAnalysis analysis = failure("idempotency.store.type=dynamodb", "idempotency.stores.other.type=dynamodb",
				"idempotency.stores.other.dynamodb.table=" + this.table);
		assertThat(analysis.getDescription()).startsWith("The stores 'default' and 'other' have the same records");
		assertThat(analysis.getAction()).startsWith("Set 'idempotency.stores.other.dynamodb.table'");
	}

	@Test
	@Tag("promise-12")
	void tableWithAnotherKeyFailsTheStart() {
		createTable("pk");
		FailureAnalysis analysis = failure();
		assertThat(analysis.getDescription())
			.isEqualTo("The DynamoDB table '" + this.table + "' has another key than the idempotency store needs.");
		assertThat(analysis.getAction()).startsWith("Set 'idempotency.dynamodb.table' to a table");
	}

	@Test
	@Tag("promise-12")
	void tableWithoutTimeToLiveIsAWarning() {
		createTable("id");
		try (Logs logs = new Logs()) {
			this.runner.run((context) -> assertThat(context.getBean(IdempotencyStore.class).warning())
				.hasValue("The items of the DynamoDB table '" + this.table
						+ "' are never deleted. Enable time to live for the attribute 'ttl'"));
			assertThat(logs.messages("WARN")).anyMatch((message) -> message.contains("are never deleted"));
		}
	}

	@Test
	@Tag("promise-12")
	@Tag("promise-14")
	void resultsThatDoNotFitIntoAnItemAreRefused() {
		FailureAnalysis analysis = failure("idempotency.result.maximum-size=391KB");
		assertThat(analysis.getDescription()).contains("'idempotency.result.maximum-size' is", "400 KB");
		assertThat(analysis.getAction()).isEqualTo("Set 'idempotency.result.maximum-size' to 390KB or less.");
	}

	@Test
	@Tag("promise-12")
	void missingClientIsNamed() {
		FailureAnalysis analysis = Contexts.failure(Contexts.without(DataSourceAutoConfiguration.class)
			.withPropertyValues("idempotency.store.type=dynamodb")
			.withUserConfiguration(IdempotencyAutoConfigurationTests.Listener.class));
		assertThat(analysis.getDescription())
			.isEqualTo("'idempotency.store.type' is 'dynamodb', but there is no DynamoDbClient bean.");
		assertThat(analysis.getAction()).startsWith("Add 'software.amazon.awssdk:dynamodb'");
	}

	@Test
	@Tag("promise-13")
	void applicationStartsWithoutTheSdk() {
		Contexts.without(DataSourceAutoConfiguration.class)
			.withClassLoader(new FilteredClassLoader("software.amazon.awssdk"))
			.withPropertyValues("idempotency.store.type=in-memory")
			.run((context) -> assertThat(context).hasNotFailed());
	}

	private void createTable(String key) {
		try (DynamoDbClient client = Servers.dynamoDb().client().build()) {
			client.createTable((request) -> request.tableName(this.table)
				.billingMode(BillingMode.PAY_PER_REQUEST)
				.attributeDefinitions((attribute) -> attribute.attributeName(key).attributeType(ScalarAttributeType.S))
				.keySchema((element) -> element.attributeName(key).keyType(KeyType.HASH)));
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class Client {

		@Bean
		DynamoDbClient dynamoDbClient() {
			return Servers.dynamoDb().client().build();
		}

	}

}
