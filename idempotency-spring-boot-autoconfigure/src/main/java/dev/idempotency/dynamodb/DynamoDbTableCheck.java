/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import software.amazon.awssdk.awscore.AwsRequestOverrideConfiguration;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.MultiRegionConsistency;
import software.amazon.awssdk.services.dynamodb.model.ResourceInUseException;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.TableDescription;
import software.amazon.awssdk.services.dynamodb.model.TableStatus;
import software.amazon.awssdk.services.dynamodb.model.TimeToLiveDescription;
import software.amazon.awssdk.services.dynamodb.model.TimeToLiveStatus;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.SimpleLifecycle;

/**
 * Checks the table of a {@link DynamoDbIdempotencyStore}, see
 * {@link DynamoDbIdempotencyStore#tableCheck}.
 */
final class DynamoDbTableCheck extends SimpleLifecycle {

	private static final Log logger = LogFactory.getLog(DynamoDbTableCheck.class);

	// Credentials and the first connection take longer than a call.
	private static final Duration TIMEOUT = Duration.ofSeconds(10);

	private static final Duration CREATION = Duration.ofSeconds(60);

	private static final AwsRequestOverrideConfiguration LIMIT = AwsRequestOverrideConfiguration.builder()
		.apiCallTimeout(TIMEOUT)
		.build();

	private static final AttributeDefinition ATTRIBUTE = AttributeDefinition.builder()
		.attributeName(RecordItem.ID)
		.attributeType(ScalarAttributeType.S)
		.build();

	private static final KeySchemaElement KEY = KeySchemaElement.builder()
		.attributeName(RecordItem.ID)
		.keyType(KeyType.HASH)
		.build();

	private final DynamoDbIdempotencyStore store;

	private final DynamoDbClient client;

	private final String table;

	private final boolean create;

	DynamoDbTableCheck(DynamoDbIdempotencyStore store, DynamoDbClient client, String table, boolean create) {
		this.store = store;
		this.client = client;
		this.table = table;
		this.create = create;
	}

	@Override
	public void start() {
		try {
			check();
		}
		catch (SdkException ex) {
			logger.warn("The DynamoDB table '" + this.table + "' could not be checked ("
					+ ((ex instanceof AwsServiceException refusal) ? DynamoDbErrors.code(refusal)
							: "DynamoDB cannot be reached")
					+ "). Allow 'dynamodb:DescribeTable' and 'dynamodb:DescribeTimeToLive', or check that DynamoDB can be "
					+ "reached. Idempotent listeners are paused until it answers", ex);
		}
		super.start();
	}

	private void check() {
		List<String> findings = new ArrayList<>();
		TableDescription description = describe();
		requireKey(description);
		if (description.hasReplicas() && description.multiRegionConsistency() != MultiRegionConsistency.STRONG) {
			findings.add("The DynamoDB table '" + this.table + "' is replicated to other Regions with eventual "
					+ "consistency. Run all instances with one scope in one Region: a key that is claimed in two Regions "
					+ "at the same time runs twice");
		}
		TimeToLiveDescription timeToLive = this.client
			.describeTimeToLive((request) -> request.tableName(this.table).overrideConfiguration(LIMIT))
			.timeToLiveDescription();
		boolean enabled = timeToLive.timeToLiveStatus() == TimeToLiveStatus.ENABLED
				|| timeToLive.timeToLiveStatus() == TimeToLiveStatus.ENABLING;
		if (!enabled || !RecordItem.TTL.equals(timeToLive.attributeName())) {
			findings.add("The items of the DynamoDB table '" + this.table
					+ "' are never deleted. Enable time to live for the attribute '" + RecordItem.TTL + "'");
		}
		findings.forEach(logger::warn);
		this.store.warn(findings.isEmpty() ? null : String.join(". ", findings));
	}

	private TableDescription describe() {
		try {
			return describeOnce();
		}
		catch (ResourceNotFoundException ex) {
			IdempotencyConfigurationException.check(this.create,
					"The DynamoDB table '" + this.table + "' of the idempotency store does not exist.",
					"Create the table with the partition key 'id' of the type String and time to live for the "
							+ "attribute 'ttl', correct 'idempotency.dynamodb.table' or the Region, or set "
							+ "'idempotency.dynamodb.create-table' to 'true' for development.");
			return create();
		}
	}

	private TableDescription describeOnce() {
		return this.client.describeTable((request) -> request.tableName(this.table).overrideConfiguration(LIMIT))
			.table();
	}

	private TableDescription create() {
		try {
			this.client.createTable((request) -> request.tableName(this.table)
				.overrideConfiguration(LIMIT)
				.billingMode(BillingMode.PAY_PER_REQUEST)
				.attributeDefinitions(ATTRIBUTE)
				.keySchema(KEY));
		}
		catch (ResourceInUseException ex) {
			logger.debug("Another instance creates the table", ex);
		}
		TableDescription description = awaitActive();
		enableTimeToLive();
		logger.info("The DynamoDB table '" + this.table + "' was created");
		return description;
	}

	private TableDescription awaitActive() {
		long end = System.nanoTime() + CREATION.toNanos();
		while (true) {
			TableDescription description = describeOnce();
			if (description.tableStatus() == TableStatus.ACTIVE || System.nanoTime() > end) {
				return description;
			}
			LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(200));
		}
	}

	private void enableTimeToLive() {
		try {
			this.client.updateTimeToLive((request) -> request.tableName(this.table)
				.overrideConfiguration(LIMIT)
				.timeToLiveSpecification((time) -> time.attributeName(RecordItem.TTL).enabled(true)));
		}
		catch (AwsServiceException ex) {
			// The check that follows reports it, unless another instance has enabled it.
			logger.debug("Time to live was not enabled", ex);
		}
	}

	private void requireKey(TableDescription description) {
		IdempotencyConfigurationException.check(
				description.keySchema().equals(List.of(KEY)) && description.attributeDefinitions().contains(ATTRIBUTE),
				"The DynamoDB table '" + this.table + "' has another key than the idempotency store needs.",
				"Set 'idempotency.dynamodb.table' to a table whose only key is the partition key 'id' of the type "
						+ "String.");
	}

}
