/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

/**
 * Limits the time of statements that may wait for a lock, because
 * {@code innodb_lock_wait_timeout} has whole seconds and belongs to the session. MariaDB
 * limits a single statement itself. On MySQL, the driver cancels the statement.
 *
 * @param prefix the beginning of a statement that the server limits
 * @param watched the limit of a statement that the driver cancels, {@code null} if the
 * server limits it
 */
record MySqlLimit(String prefix, @Nullable StatementLimit watched) {

	static MySqlLimit of(boolean mariaDb, Duration limit) {
		return mariaDb ? new MySqlLimit(
				"SET STATEMENT max_statement_time = %d.%03d FOR ".formatted(limit.toSeconds(), limit.toMillisPart()),
				null) : new MySqlLimit("", new StatementLimit(limit));
	}

	SqlStatement statement(String text) {
		SqlStatement statement = SqlStatement.of(this.prefix + text, MySqlTypes.INSTANCE);
		return (this.watched != null) ? statement.limitedBy(this.watched) : statement;
	}

	// MariaDB returns the changed rows with the same statement, and MySQL with a second
	// one. That one locks the rows: a transaction with an older snapshot would read an
	// older version of them.
	SqlStatement answered(String change, String returned, String read, String from) {
		return (this.watched == null) ? statement(change + " RETURNING " + returned)
				: statement(change).answeredBy(statement("SELECT " + read + " FROM " + from));
	}

}
