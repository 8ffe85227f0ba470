/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.List;

/**
 * The abilities that a trial combines, each with its levels. The first level of each is
 * the usual one.
 */
enum Factor {

	/**
	 * The kind of the listener.
	 */
	SHAPE("kind of listener", "record", "class-level", "batch", "batch without an index", "future", "Mono", "suspend"),

	/**
	 * The mode.
	 */
	MODE("mode", "auto", "transactional", "leased"),

	/**
	 * The store.
	 */
	STORE("store", "PostgreSQL", "PostgreSQL, partitioned", "MariaDB", "MariaDB, driver of MySQL", "H2", "migrating",
			"Redis", "Redis cluster", "DynamoDB", "in memory"),

	/**
	 * The ack mode.
	 */
	ACK("ack mode", "BATCH", "RECORD", "TIME", "COUNT", "COUNT_TIME", "MANUAL", "MANUAL_IMMEDIATE"),

	/**
	 * The identity of an operation.
	 */
	KEY("key", "expression", "composite", "header", "coordinates", "offset"),

	/**
	 * Whether records have versions.
	 */
	VERSION("version", "none", "compared"),

	/**
	 * Whether content is compared.
	 */
	FINGERPRINT("fingerprint", "none", "declared"),

	/**
	 * Whether the method declines some operations.
	 */
	DECLINE("declining method", "no", "yes"),

	/**
	 * The error handler.
	 */
	ERRORS("error handler", "immediate retries", "with back-off", "not seeking", "container-stopping", "delegating"),

	/**
	 * Whether there is a retry topic.
	 */
	RETRY_TOPIC("retry topic", "none", "with dead-letter topic"),

	/**
	 * Whether the container has a Kafka transaction.
	 */
	KAFKA_TRANSACTION("Kafka transaction", "no", "yes"),

	/**
	 * The transaction of the method.
	 */
	TRANSACTION("transaction of the method", "none", "JDBC", "JPA", "REQUIRES_NEW", "nested template"),

	/**
	 * Whether the method sends messages through the outbox.
	 */
	OUTBOX("outbox", "no", "yes"),

	/**
	 * Whether keys are claimed ahead.
	 */
	CLAIM_AHEAD("claim ahead", "on", "off"),

	/**
	 * Whether completed keys are cached.
	 */
	CACHE("local cache", "off", "on"),

	/**
	 * The interception of records.
	 */
	INTERCEPTION("interception", "none", "interceptor drops", "filter drops", "consumer interceptor changes headers"),

	/**
	 * The threads of the consumers.
	 */
	THREADS("threads", "of the container", "virtual"),

	/**
	 * The group protocol.
	 */
	PROTOCOL("group protocol", "eager", "cooperative", "consumer"),

	/**
	 * The connection pool.
	 */
	POOL("connection pool", "normal", "one connection", "auto-commit off"),

	/**
	 * The result of the method.
	 */
	RESULT("result", "none", "replied", "too large", "not readable"),

	/**
	 * The number of consumers.
	 */
	CONSUMERS("consumers", "one", "two");

	private final String title;

	private final List<String> levels;

	Factor(String title, String... levels) {
		this.title = title;
		this.levels = List.of(levels);
	}

	String title() {
		return this.title;
	}

	List<String> levels() {
		return this.levels;
	}

	Level level(String name) {
		if (!this.levels.contains(name)) {
			throw new IllegalArgumentException(this + " has no level " + name);
		}
		return new Level(this, name);
	}

	List<Level> all() {
		return this.levels.stream().map(this::level).toList();
	}

}
