/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.ByteBuffer;
import java.util.UUID;

import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * The SQL of the limits that differs between the databases.
 */
enum Database {

	/**
	 * PostgreSQL.
	 */
	POSTGRESQL("GENERATED ALWAYS AS IDENTITY", "ANALYZE %s", "CREATE TABLE %s (LIKE %s INCLUDING ALL)",
			"CREATE TABLE processed (payment text PRIMARY KEY, processed_at timestamptz NOT NULL DEFAULT now())",
			"INSERT INTO processed (payment) VALUES (?) ON CONFLICT DO NOTHING", """
					INSERT INTO %s
					  (id, scope, key, state, fence, attempt, token, lease_until, created_at, expires_at)
					VALUES (?, 'bare', ?, 'P', 1, 1, ?, clock_timestamp() + interval '1 minute', clock_timestamp(),
					  clock_timestamp() + interval '7 days')"""),

	/**
	 * MariaDB.
	 */
	MARIADB("AUTO_INCREMENT", "ANALYZE TABLE %s", "CREATE TABLE %s LIKE %s",
			"CREATE TABLE processed (payment varchar(255) PRIMARY KEY, processed_at timestamp NOT NULL DEFAULT now())",
			"INSERT IGNORE INTO processed (payment) VALUES (?)", """
					INSERT INTO %s
					  (id, scope, `key`, state, fence, attempt, token, lease_until, created_at, expires_at)
					VALUES (?, 'bare', ?, 'P', 1, 1, ?, UTC_TIMESTAMP(6) + INTERVAL 1 MINUTE, UTC_TIMESTAMP(6),
					  UTC_TIMESTAMP(6) + INTERVAL 7 DAY)""") {

		@Override
		Object id(UUID id) {
			return ByteBuffer.allocate(16)
				.putLong(id.getMostSignificantBits())
				.putLong(id.getLeastSignificantBits())
				.array();
		}

	};

	private final String identity;

	private final String analyze;

	private final String copyTable;

	private final String createProcessed;

	private final String insertProcessed;

	private final String insertRecord;

	Database(String identity, String analyze, String copyTable, String createProcessed, String insertProcessed,
			String insertRecord) {
		this.identity = identity;
		this.analyze = analyze;
		this.copyTable = copyTable;
		this.createProcessed = createProcessed;
		this.insertProcessed = insertProcessed;
		this.insertRecord = insertRecord;
	}

	static Database of(JdbcTemplate jdbc) {
		String product = jdbc
			.execute((ConnectionCallback<String>) (connection) -> connection.getMetaData().getDatabaseProductName());
		return "MariaDB".equals(product) ? MARIADB : POSTGRESQL;
	}

	String identity() {
		return this.identity;
	}

	String analyze(String table) {
		return this.analyze.formatted(table);
	}

	String copyTable(String table, String original) {
		return this.copyTable.formatted(table, original);
	}

	/**
	 * The table of the keys that a team writes itself.
	 */
	String createProcessed() {
		return this.createProcessed;
	}

	// Inserts a key unless it exists.
	String insertProcessed() {
		return this.insertProcessed;
	}

	String insertRecord(String table) {
		return this.insertRecord.formatted(table);
	}

	Object id(UUID id) {
		return id;
	}

}
