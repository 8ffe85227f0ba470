/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.time.Duration;

import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.dynamodb.DynamoDbIdempotencyStore;
import dev.idempotency.store.IdempotencyRecord;

import static dev.idempotency.contract.OneKey.one;

/**
 * A table of DynamoDB Local with a store.
 */
public final class TestDynamoDb implements AfterAllCallback, AutoCloseable {

	/**
	 * DynamoDB Local takes long for large batches on a busy machine.
	 */
	public static final Duration TIMEOUT = Duration.ofSeconds(60);

	private final DynamoDbServer server;

	private final String table;

	private final DynamoDbClient client;

	private final DynamoDbIdempotencyStore store;

	private TestDynamoDb(DynamoDbServer server) {
		this.server = server;
		this.table = Servers.unique("idempotency-");
		this.client = server.client().build();
		this.store = store(this.client);
		this.store.tableCheck(true).start();
	}

	/**
	 * Create a table on the shared server.
	 * @return the table
	 */
	public static TestDynamoDb create() {
		return create(Servers.dynamoDb());
	}

	public static TestDynamoDb create(DynamoDbServer server) {
		return new TestDynamoDb(server);
	}

	public DynamoDbServer server() {
		return this.server;
	}

	public String table() {
		return this.table;
	}

	public DynamoDbClient client() {
		return this.client;
	}

	/**
	 * Return the store of this process. It tolerates no difference between clocks, so
	 * that a retention ends in time.
	 * @return the store
	 */
	public DynamoDbIdempotencyStore store() {
		return this.store;
	}

	/**
	 * Create another store for the same table, as another process has one.
	 * @param client its client
	 * @return the store
	 */
	public DynamoDbIdempotencyStore store(DynamoDbClient client) {
		return new DynamoDbIdempotencyStore(client, this.table, TIMEOUT, Duration.ZERO);
	}

	public IdempotencyRecord record(IdempotencyKey key) {
		return one(this.store).find(key).orElseThrow();
	}

	// As an extension it lives as long as its test class.
	@Override
	public void afterAll(ExtensionContext context) {
		close();
	}

	@Override
	public void close() {
		this.store.close();
		this.client.close();
	}

}
