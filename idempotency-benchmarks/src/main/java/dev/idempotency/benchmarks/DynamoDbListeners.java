/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.beans.factory.annotation.Value;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * A protected handler that does nothing, and the minimum of bare requests as its limit.
 */
class DynamoDbListeners {

	private final DynamoDbClient client;

	private final String table;

	DynamoDbListeners(DynamoDbClient client, @Value("bare-${idempotency.dynamodb.table}") String table) {
		this.client = client;
		this.table = table;
		client.createTable((request) -> request.tableName(table)
			.billingMode(BillingMode.PAY_PER_REQUEST)
			.attributeDefinitions((id) -> id.attributeName("id").attributeType(ScalarAttributeType.S))
			.keySchema((id) -> id.attributeName("id").keyType(KeyType.HASH)));
		client.waiter().waitUntilTableExists((request) -> request.tableName(table));
	}

	@BenchmarkListener(BenchmarkListener.LIMIT)
	void bareRequests(ConsumerRecord<String, String> record) {
		String key = Workload.key(record);
		Map<String, AttributeValue> id = Map.of("id", AttributeValue.fromS(key));
		if (Workload.isDuplicate(record)) {
			if (!this.client.getItem((get) -> get.tableName(this.table).key(id).consistentRead(true)).hasItem()) {
				throw new IllegalStateException("The item does not exist");
			}
		}
		else {
			this.client.putItem((put) -> put.tableName(this.table)
				.item(Map.of("id", AttributeValue.fromS(key), "state", AttributeValue.fromS("P")))
				.conditionExpression("attribute_not_exists(id)"));
			this.client.updateItem((update) -> update.tableName(this.table)
				.key(id)
				.updateExpression("SET #state = :state")
				.expressionAttributeNames(Map.of("#state", "state"))
				.expressionAttributeValues(Map.of(":state", AttributeValue.fromS("C"))));
		}
	}

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.LEASED)
	void protectedNothing(ConsumerRecord<String, String> record) {
	}

}
