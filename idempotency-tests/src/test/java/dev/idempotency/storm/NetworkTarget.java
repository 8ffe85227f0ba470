/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

/**
 * The servers behind a disturbed network.
 */
enum NetworkTarget {

	/**
	 * The broker.
	 */
	BROKER("broker, transactional, PostgreSQL", Shape.TRANSACTIONAL, Store.JDBC),

	/**
	 * The database of a transactional listener.
	 */
	POSTGRESQL_TRANSACTIONAL("PostgreSQL, transactional", Shape.TRANSACTIONAL, Store.JDBC),

	/**
	 * The database of a leased listener.
	 */
	POSTGRESQL_LEASED("PostgreSQL, leased", Shape.RECORD, Store.JDBC),

	/**
	 * The database of a transactional listener.
	 */
	MARIADB_TRANSACTIONAL("MariaDB, transactional", Shape.TRANSACTIONAL, Store.MARIADB),

	/**
	 * The store of a leased listener. The database of its effects is not disturbed.
	 */
	REDIS("Redis, leased", Shape.RECORD, Store.REDIS),

	/**
	 * The store of a leased listener. The database of its effects is not disturbed.
	 */
	DYNAMODB("DynamoDB Local, leased", Shape.RECORD, Store.DYNAMO_DB);

	private final String title;

	private final Shape shape;

	private final Store store;

	NetworkTarget(String title, Shape shape, Store store) {
		this.title = title;
		this.shape = shape;
		this.store = store;
	}

	String title() {
		return this.title;
	}

	Shape shape() {
		return this.shape;
	}

	Store store() {
		return this.store;
	}

}
