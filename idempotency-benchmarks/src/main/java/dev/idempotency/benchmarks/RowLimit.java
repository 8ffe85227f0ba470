/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.UUID;

import javax.sql.DataSource;

import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.store.IdempotencyStore;

/**
 * Runs bare statements with the JDBC driver on a table like that of the store.
 */
final class RowLimit {

	private static final String COMPLETE = "UPDATE bare_record SET state = 'C', lease_until = NULL WHERE id = ?";

	private static final String SELECT = "SELECT state, result FROM bare_record WHERE id = ?";

	private final DataSource dataSource;

	private final Database database;

	// Created after the store has created its table.
	RowLimit(DataSource dataSource, IdempotencyStore store) {
		this.dataSource = dataSource;
		JdbcTemplate jdbc = new JdbcTemplate(dataSource);
		this.database = Database.of(jdbc);
		jdbc.execute(this.database.copyTable("bare_record", "idempotency_record"));
	}

	void insert(UUID id, String key) throws SQLException {
		try (Connection connection = this.dataSource.getConnection();
				PreparedStatement statement = connection.prepareStatement(this.database.insertRecord("bare_record"))) {
			statement.setObject(1, this.database.id(id));
			statement.setString(2, key);
			statement.setObject(3, this.database.id(id));
			statement.executeUpdate();
		}
	}

	void complete(UUID id) throws SQLException {
		try (Connection connection = this.dataSource.getConnection();
				PreparedStatement statement = connection.prepareStatement(COMPLETE)) {
			statement.setObject(1, this.database.id(id));
			if (statement.executeUpdate() != 1) {
				throw new IllegalStateException("The row does not exist");
			}
		}
	}

	void select(UUID id) throws SQLException {
		try (Connection connection = this.dataSource.getConnection();
				PreparedStatement statement = connection.prepareStatement(SELECT)) {
			statement.setObject(1, this.database.id(id));
			try (ResultSet row = statement.executeQuery()) {
				if (!row.next() || !"C".equals(row.getString(1)) || row.getBytes(2) != null) {
					throw new IllegalStateException("The row does not exist");
				}
			}
		}
	}

}
