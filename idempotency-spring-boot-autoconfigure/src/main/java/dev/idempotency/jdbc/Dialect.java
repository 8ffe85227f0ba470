/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.time.Duration;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The differences between databases while the application runs: the statements, time
 * limits and the meaning of errors. A further database needs an implementation of this
 * interface, a {@link Catalog} and a folder of migrations.
 */
interface Dialect {

	RecordSql records(TableName table, Duration lockWait);

	OutboxSql outbox(TableName table);

	OffsetSql offsets(TableName table, Duration lockWait);

	// The schema of the database and the privileges of its user.
	Catalog catalog();

	// The statements for rows that have expired and meet a condition.
	ExpirySql expired(TableName table, String time, String condition);

	// The first statement of a transaction that must be READ COMMITTED.
	default @Nullable String readCommitted() {
		return "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
	}

	// Whether a single statement that commits itself needs that isolation, too.
	default boolean isolatesStatements() {
		return true;
	}

	// Whether a failed claim, or the time limit for its locks, would affect the
	// transaction of the caller.
	default boolean needsSavepoints() {
		return true;
	}

	// How many bytes of results one statement for several records may contain.
	default long maxResultBytes() {
		return Long.MAX_VALUE;
	}

	default ValueTypes types() {
		return ValueTypes.STANDARD;
	}

	// Limit the time of the following statements, and return the previous limit.
	default int limit(Connection connection, Duration timeout) throws SQLException {
		return limitNetwork(connection, timeout);
	}

	default void restore(Connection connection, int limit) throws SQLException {
		restoreNetwork(connection, limit);
	}

	// Set the network timeout of a connection, if its driver has one.
	static int limitNetwork(Connection connection, Duration timeout) throws SQLException {
		try {
			int previous = connection.getNetworkTimeout();
			connection.setNetworkTimeout(Runnable::run, (int) timeout.toMillis());
			return previous;
		}
		catch (SQLFeatureNotSupportedException ex) {
			return -1;
		}
	}

	static void restoreNetwork(Connection connection, int limit) throws SQLException {
		if (limit >= 0) {
			connection.setNetworkTimeout(Runnable::run, limit);
		}
	}

	boolean is(Problem problem, SQLException error);

	// Whether the database would roll back at a commit, because a statement of the
	// transaction has failed. Costs no round trip.
	default boolean isAborted(Connection connection) throws SQLException {
		return false;
	}

	/**
	 * The meaning of an error. An error can have several.
	 */
	enum Problem {

		/**
		 * A claim failed because another transaction has inserted the record in the
		 * meantime. The current transaction remains usable.
		 */
		DUPLICATE,

		/**
		 * A completion that claims another key has had no effect, because the caller does
		 * not own the claim.
		 */
		NOT_OWNED,

		/**
		 * A statement failed because of a concurrent transaction, so that the record has
		 * to be redelivered and processed in a new transaction.
		 */
		CONTENTION,

		/**
		 * The database has rolled back the whole transaction of a failed statement, so
		 * that the next statement begins another one.
		 */
		TRANSACTION_ENDED,

		/**
		 * A statement of the store's own transactions succeeds when it is run again at
		 * once.
		 */
		REPEATABLE,

		/**
		 * The database is unavailable, at least on this connection: the connection is
		 * closed, or the server lacks resources, shuts down or only reads.
		 */
		OUTAGE,

		/**
		 * The user lacks a privilege.
		 */
		DENIED,

		/**
		 * The same statement would fail again: the data, a constraint, a privilege, a
		 * missing table or a read-only transaction.
		 */
		PERMANENT,

		/**
		 * Another transaction has locked the whole table for too long.
		 */
		LOCKED,

		/**
		 * The isolation of the transaction must be READ COMMITTED.
		 */
		ISOLATION,

		/**
		 * A statement failed because an earlier one of the same transaction had failed.
		 */
		ABORTED;

		private static final String READ_ONLY = "25006";

		// The classes of the standard for data, constraints, syntax and access rules, and
		// a write in a transaction that the application has declared to be read-only.
		static boolean isPermanent(@Nullable String state) {
			return state != null && (Set.of("22", "23", "42").contains(state.substring(0, 2))
					|| (READ_ONLY.equals(state) && TransactionSynchronizationManager.isCurrentTransactionReadOnly()));
		}

		// The connection is lost, which an error without a state means if the pool has
		// closed it, or the server only reads, as after a failover.
		static boolean isOutage(@Nullable String state) {
			return state == null || state.startsWith("08")
					|| (READ_ONLY.equals(state) && !TransactionSynchronizationManager.isCurrentTransactionReadOnly());
		}

	}

}
