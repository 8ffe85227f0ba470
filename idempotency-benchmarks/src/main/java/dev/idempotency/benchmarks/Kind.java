/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.Map;

/**
 * A combination of store, mode, protected listener and limit.
 */
enum Kind {

	/**
	 * The writes of the handler and the record share one transaction.
	 */
	TRANSACTIONAL("transactional, PostgreSQL", "the same listener unprotected", "the same listener unprotected",
			Map.of("idempotency.store.type", "jdbc"), TransferListeners.class),

	/**
	 * The limit inserts the key into a table of its own, in the transaction of the
	 * handler.
	 */
	TRANSACTIONAL_BY_HAND("transactional, PostgreSQL, beside a unique key by hand",
			"the same with INSERT … ON CONFLICT DO NOTHING by hand",
			"the same with INSERT … ON CONFLICT DO NOTHING by hand", Map.of("idempotency.store.type", "jdbc"),
			TransferListeners.ByHand.class),

	/**
	 * The limit does not compare the contents of duplicates.
	 */
	TRANSACTIONAL_COMPARED("transactional, PostgreSQL, comparison of contents", "the same without the comparison",
			"the same without the comparison", Map.of("idempotency.store.type", "jdbc"),
			TransferListeners.WithoutComparison.class),

	/**
	 * The same for leased mode.
	 */
	LEASED_COMPARED("leased, PostgreSQL, comparison of contents", "the same without the comparison",
			"the same without the comparison", Map.of("idempotency.store.type", "jdbc"), ComparedListeners.class),

	/**
	 * The same for Redis.
	 */
	REDIS_COMPARED("leased, Redis, comparison of contents", "the same without the comparison",
			"the same without the comparison", Map.of("idempotency.store.type", "redis"), ComparedListeners.class),

	/**
	 * The limit runs a statement that does nothing, in the transaction of the handler.
	 */
	TRANSACTIONAL_EMPTY_STATEMENT("transactional, PostgreSQL, beside an empty statement",
			"the same listener unprotected, with SELECT 1", "the same listener unprotected, with SELECT 1",
			Map.of("idempotency.store.type", "jdbc"), TransferListeners.EmptyStatement.class),

	/**
	 * The claim and the completion are in PostgreSQL.
	 */
	LEASED("leased, PostgreSQL", "INSERT and UPDATE of a row, two commits", "SELECT by primary key",
			Map.of("idempotency.store.type", "jdbc"), RowListeners.class, RowLimit.class),

	/**
	 * The writes of the handler and the record share one transaction of MariaDB.
	 */
	TRANSACTIONAL_MARIADB("transactional, MariaDB", "the same listener unprotected", "the same listener unprotected",
			Map.of("idempotency.store.type", "jdbc"), TransferListeners.class) {

		@Override
		Map<String, Object> properties(Servers servers) {
			return servers.mariaDbProperties();
		}

	},

	/**
	 * The limit inserts the key into a table of its own, in the transaction of the
	 * handler.
	 */
	TRANSACTIONAL_MARIADB_BY_HAND("transactional, MariaDB, beside a unique key by hand",
			"the same with INSERT IGNORE by hand", "the same with INSERT IGNORE by hand",
			Map.of("idempotency.store.type", "jdbc"), TransferListeners.ByHand.class) {

		@Override
		Map<String, Object> properties(Servers servers) {
			return servers.mariaDbProperties();
		}

	},

	/**
	 * The claim and the completion are in MariaDB.
	 */
	LEASED_MARIADB("leased, MariaDB", "INSERT and UPDATE of a row, two commits", "SELECT by primary key",
			Map.of("idempotency.store.type", "jdbc"), RowListeners.class, RowLimit.class) {

		@Override
		Map<String, Object> properties(Servers servers) {
			return servers.mariaDbProperties();
		}

	},

	/**
	 * The claim and the completion are in DynamoDB Local, which shows only that the store
	 * works under load.
	 */
	DYNAMODB("leased, DynamoDB Local", "PutItem and UpdateItem", "GetItem",
			Map.of("idempotency.store.type", "dynamodb", "idempotency.dynamodb.create-table", "true"),
			DynamoDbListeners.class, DynamoDbConfiguration.class) {

		@Override
		Map<String, Object> properties(Servers servers) {
			return servers.dynamoDbProperties();
		}

	},

	/**
	 * The claim and the completion are in Redis.
	 */
	REDIS("leased, Redis", "SET NX PX and SET PX", "GET", Map.of("idempotency.store.type", "redis"),
			RedisListeners.class),

	/**
	 * The writes and the records of a batch share one transaction.
	 */
	TRANSACTIONAL_BATCH("transactional, PostgreSQL, batches of 500", "the same listener unprotected",
			"the same listener unprotected", Map.of("idempotency.store.type", "jdbc"), BatchTransferListeners.class),

	/**
	 * The same for smaller batches.
	 */
	TRANSACTIONAL_SMALL_BATCH("transactional, PostgreSQL, batches of 100", "the same listener unprotected",
			"the same listener unprotected",
			Map.of("idempotency.store.type", "jdbc", "spring.kafka.consumer.max-poll-records", "100"),
			BatchTransferListeners.class),

	/**
	 * The limit inserts the keys of the batch into a table of its own, in the transaction
	 * of the handler.
	 */
	TRANSACTIONAL_BATCH_BY_HAND("transactional, PostgreSQL, batches of 500, beside a unique key by hand",
			"the same with one INSERT … ON CONFLICT DO NOTHING by hand",
			"the same with one INSERT … ON CONFLICT DO NOTHING by hand", Map.of("idempotency.store.type", "jdbc"),
			BatchTransferListeners.ByHand.class),

	/**
	 * The same for smaller batches.
	 */
	TRANSACTIONAL_SMALL_BATCH_BY_HAND("transactional, PostgreSQL, batches of 100, beside a unique key by hand",
			"the same with one INSERT … ON CONFLICT DO NOTHING by hand",
			"the same with one INSERT … ON CONFLICT DO NOTHING by hand",
			Map.of("idempotency.store.type", "jdbc", "spring.kafka.consumer.max-poll-records", "100"),
			BatchTransferListeners.ByHand.class),

	/**
	 * Batches compared with single records, in PostgreSQL.
	 */
	LEASED_BATCH("leased, PostgreSQL, batches of 500", "the same for single records", "the same for single records",
			Map.of("idempotency.store.type", "jdbc"), BatchListeners.class),

	/**
	 * Batches compared with single records, in Redis.
	 */
	REDIS_BATCH("leased, Redis, batches of 500", "the same for single records", "the same for single records",
			Map.of("idempotency.store.type", "redis"), BatchListeners.class),

	/**
	 * Completed keys are cached in the process.
	 */
	CACHED("leased, PostgreSQL, cache", "an empty listener", "an empty listener",
			Map.of("idempotency.store.type", "jdbc", "idempotency.cache.enabled", "true"), EmptyListeners.class,
			EmptyListeners.Limit.class) {

		@Override
		boolean isEffective(double roundTrips) {
			return roundTrips < 0.5;
		}

	};

	private final String title;

	private final String limitOfNew;

	private final String limitOfDuplicate;

	private final Map<String, String> properties;

	private final Class<?>[] listeners;

	Kind(String title, String limitOfNew, String limitOfDuplicate, Map<String, String> properties,
			Class<?>... listeners) {
		this.title = title;
		this.limitOfNew = limitOfNew;
		this.limitOfDuplicate = limitOfDuplicate;
		this.properties = properties;
		this.listeners = listeners;
	}

	/**
	 * Return whether the settings of this kind have an effect.
	 */
	boolean isEffective(double roundTrips) {
		return true;
	}

	/**
	 * Return the properties of an application, which are the same for both listeners.
	 */
	Map<String, Object> properties(Servers servers) {
		return servers.properties();
	}

	String title() {
		return this.title;
	}

	String limitOfNew() {
		return this.limitOfNew;
	}

	String limitOfDuplicate() {
		return this.limitOfDuplicate;
	}

	Map<String, String> properties() {
		return this.properties;
	}

	Class<?>[] listeners() {
		return this.listeners.clone();
	}

}
