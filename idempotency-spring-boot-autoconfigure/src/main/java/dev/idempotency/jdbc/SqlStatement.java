/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * An SQL statement with named parameters, {@code :name}. A name may occur several times.
 * A database whose statements cannot change rows and return them has a second statement
 * that reads the answer.
 *
 * @param sql the statement with a question mark for each parameter
 * @param names the names of the parameters in the order of their question marks
 * @param limit limits the time of a statement that may wait for a lock, {@code null} if
 * the statement does so itself or does not wait
 * @param types binds the parameters
 * @param answer reads what this statement has changed, {@code null} if this statement
 * returns that itself
 * @param tells whether the first column of a returned row tells whether the statement has
 * changed the row
 */
record SqlStatement(String sql, List<String> names, @Nullable StatementLimit limit, ValueTypes types,
		@Nullable Answer answer, boolean tells) {

	// The name of a schema can contain a colon, so quoted identifiers are skipped. The
	// lookbehind excludes casts, which have two colons.
	private static final Pattern NAME = Pattern.compile("\"[^\"]*\"|`[^`]*`|(?<!:):([a-z_]+)");

	static SqlStatement of(String text) {
		return of(text, ValueTypes.STANDARD);
	}

	static SqlStatement of(String text, ValueTypes types) {
		List<String> names = new ArrayList<>();
		String sql = NAME.matcher(text).replaceAll((found) -> {
			if (found.group(1) == null) {
				return Matcher.quoteReplacement(found.group());
			}
			names.add(found.group(1));
			return "?";
		});
		return new SqlStatement(sql, List.copyOf(names), null, types, null, false);
	}

	SqlStatement limitedBy(StatementLimit limit) {
		return new SqlStatement(this.sql, this.names, limit, this.types, this.answer, this.tells);
	}

	// Let the first column of a returned row tell whether the statement has
	// changed it.
	SqlStatement telling() {
		return new SqlStatement(this.sql, this.names, this.limit, this.types, this.answer, true);
	}

	// Let another statement read what this one has changed.
	SqlStatement answeredBy(SqlStatement read) {
		return new SqlStatement(this.sql, this.names, this.limit, this.types, new Answer(read, true), this.tells);
	}

	// Let another statement find out whether an earlier call has already changed the
	// rows that this one has not.
	SqlStatement confirmedBy(SqlStatement read) {
		return new SqlStatement(this.sql, this.names, this.limit, this.types, new Answer(read, false), this.tells);
	}

	PreparedStatement prepare(Connection connection, Parameters parameters) throws SQLException {
		PreparedStatement statement = connection.prepareStatement(this.sql);
		bind(statement, connection, parameters);
		return statement;
	}

	private void bind(PreparedStatement statement, Connection connection, Parameters parameters) throws SQLException {
		for (int i = 0; i < this.names.size(); i++) {
			statement.setObject(i + 1, this.types.bind(this.names.get(i), parameters, connection));
		}
	}

	<T> List<T> query(Connection connection, Parameters parameters, RowReader<T> reader) throws SQLException {
		if (this.answer != null) {
			execute(connection, parameters);
			return this.answer.read().query(connection, parameters, reader);
		}
		List<T> read = new ArrayList<>();
		run(connection, parameters, reader, read);
		return read;
	}

	// Run a statement that returns at most one row.
	<T> Optional<T> first(Connection connection, Parameters parameters, RowReader<T> reader) throws SQLException {
		List<T> rows = query(connection, parameters, reader);
		return rows.isEmpty() ? Optional.empty() : Optional.ofNullable(rows.get(0));
	}

	// Run a statement that changes rows or returns them.
	int update(Connection connection, Parameters parameters) throws SQLException {
		int rows = execute(connection, parameters);
		return (this.answer == null || (rows > 0 && !this.answer.always())) ? rows
				: this.answer.read().update(connection, parameters);
	}

	// Run this statement without its answer.
	int execute(Connection connection, Parameters parameters) throws SQLException {
		return run(connection, parameters, null, List.of());
	}

	// Return the number of rows that the statement has changed or returned. The driver of
	// MySQL accepts no INSERT in executeQuery(), even if it returns rows.
	private <T> int run(Connection connection, Parameters parameters, @Nullable RowReader<T> reader, List<T> read)
			throws SQLException {
		try (PreparedStatement statement = prepare(connection, parameters);
				StatementLimit.Running running = (this.limit != null) ? this.limit.start(statement) : null) {
			boolean returned = statement.execute();
			if (running != null) {
				running.check();
			}
			if (!returned) {
				return statement.getUpdateCount();
			}
			int rows = 0;
			for (ResultSet row = statement.getResultSet(); row.next();) {
				if (reader != null) {
					read.add(reader.read(row));
				}
				rows += (!this.tells || row.getBoolean(1)) ? 1 : 0;
			}
			return rows;
		}
	}

	int[] batch(Connection connection, List<Parameters> batch) throws SQLException {
		if (batch.isEmpty()) {
			return new int[0];
		}
		try (PreparedStatement statement = connection.prepareStatement(this.sql)) {
			for (Parameters parameters : batch) {
				bind(statement, connection, parameters);
				statement.addBatch();
			}
			return statement.executeBatch();
		}
	}

	/**
	 * A statement that reads what another one has changed.
	 *
	 * @param read the statement
	 * @param always whether the number of changed rows has no meaning
	 */
	record Answer(SqlStatement read, boolean always) {

	}

	interface RowReader<T> {

		T read(ResultSet row) throws SQLException;

	}

}
