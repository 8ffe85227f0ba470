/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.jdbc.Dialect.Problem;
import dev.idempotency.jdbc.SqlStatement.RowReader;

/**
 * Runs statements within a time limit, in the current transaction or independently of it.
 *
 * @param dataSource the connections
 * @param dialect the dialect of the database
 * @param isolation the first statement of its own transactions, {@code null} if they need
 * none
 * @param timeout the time limit of a call
 */
record JdbcExecutor(DataSource dataSource, Dialect dialect, @Nullable String isolation, Duration timeout) {

	/**
	 * The time limit of calls that no application waits for. While a transaction of the
	 * database is very old, reading an outbox is slow, because rows that were published
	 * since then cannot leave the indexes.
	 */
	static final Duration PATIENCE = Duration.ofSeconds(30);

	private static final Log logger = LogFactory.getLog(JdbcExecutor.class);

	private static final String NO_TRANSACTION = "The current transaction does not bind a connection of the store's "
			+ "DataSource. Name its transaction manager with 'idempotency.jdbc.transaction-manager' or use leased mode";

	private static final String ABORTED = "A statement of the handler failed and the handler continued, but the "
			+ "database can only roll back its transaction, so nothing can be committed. Do not catch the error. If "
			+ "the statement inserts the id of a message, remove it, because @Idempotent recognizes duplicates, or "
			+ "let it ignore a row that exists. If a part is to be undone alone, give its "
			+ "method the propagation NESTED, which JPA does not support";

	private static final String ENDED = "The database has rolled the transaction back, because a statement of the "
			+ "idempotency store failed in it. Do not catch the OperationInProgressException of a claim in a "
			+ "transaction";

	// How often a statement is run again that a deadlock has ended.
	private static final int MAX_DEADLOCKS = 10;

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	// The same for calls that no application waits for.
	JdbcExecutor patient() {
		return new JdbcExecutor(this.dataSource, this.dialect, this.isolation, PATIENCE);
	}

	<T extends @Nullable Object> T inTransaction(Work<T> work) {
		try {
			// Otherwise a connection that commits each statement would be bound here.
			Assert.state(TransactionSynchronizationManager.hasResource(this.dataSource), NO_TRANSACTION);
			Connection connection = DataSourceUtils.doGetConnection(this.dataSource);
			try {
				Assert.state(!connection.getAutoCommit(), NO_TRANSACTION);
				return limited(connection, work);
			}
			finally {
				DataSourceUtils.doReleaseConnection(connection, this.dataSource);
			}
		}
		catch (SQLException ex) {
			if (this.dialect.is(Problem.ABORTED, ex)) {
				throw new UnexpectedRollbackException(ABORTED, ex);
			}
			if (this.dialect.is(Problem.TRANSACTION_ENDED, ex)) {
				refuseCommit();
			}
			throw translate(ex);
		}
	}

	// The next statement would begin another transaction, whose commit would not
	// contain the earlier statements.
	private static void refuseCommit() {
		if (!TransactionSynchronizationManager.isSynchronizationActive()) {
			return;
		}
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void beforeCommit(boolean readOnly) {
				// Spring would not roll back after an UnexpectedRollbackException.
				throw new OperationInProgressException(ENDED, RETRY_AFTER);
			}

		});
	}

	// Make sure that the current transaction can be committed. PostgreSQL executes
	// the COMMIT of an aborted transaction as a ROLLBACK, which its driver reports
	// as success.
	void requireCommittable(Work<Boolean> written) {
		if (!TransactionSynchronizationManager.hasResource(this.dataSource)) {
			return;
		}
		try {
			Connection connection = DataSourceUtils.doGetConnection(this.dataSource);
			try {
				if (this.dialect.isAborted(connection) || !written.on(connection)) {
					throw new UnexpectedRollbackException(ABORTED);
				}
			}
			finally {
				DataSourceUtils.doReleaseConnection(connection, this.dataSource);
			}
		}
		catch (SQLException ex) {
			throw translate(ex);
		}
	}

	// Run work independently of the current transaction.
	<T extends @Nullable Object> T autonomous(Work<T> work) {
		return run(false, work);
	}

	<T> List<T> query(SqlStatement statement, Parameters parameters, RowReader<T> reader) {
		return autonomous((connection) -> statement.query(connection, parameters, reader));
	}

	<T> Optional<T> first(SqlStatement statement, Parameters parameters, RowReader<T> reader) {
		return autonomous((connection) -> statement.first(connection, parameters, reader));
	}

	int update(SqlStatement statement, Parameters parameters) {
		return autonomous((connection) -> statement.update(connection, parameters));
	}

	<T extends @Nullable Object> T inNewTransaction(Work<T> work) {
		return run(true, work);
	}

	private <T extends @Nullable Object> T run(boolean transaction, Work<T> work) {
		try (Connection connection = connect()) {
			return limited(connection, (limited) -> repeated(limited, transaction, work));
		}
		catch (SQLException ex) {
			throw translate(ex);
		}
	}

	private <T extends @Nullable Object> T repeated(Connection connection, boolean transaction, Work<T> work)
			throws SQLException {
		for (int deadlocks = 0;; deadlocks++) {
			try {
				return committed(connection, transaction, work);
			}
			catch (SQLException ex) {
				if (deadlocks == MAX_DEADLOCKS || !this.dialect.is(Problem.REPEATABLE, ex)) {
					throw ex;
				}
				logger.trace("A deadlock has ended a statement of the store, which is run again", ex);
			}
		}
	}

	// Without a connection the store is unavailable, for whatever reason.
	private Connection connect() {
		try {
			return this.dataSource.getConnection();
		}
		catch (SQLException ex) {
			throw unavailable(ex);
		}
	}

	private <T extends @Nullable Object> T committed(Connection connection, boolean transaction, Work<T> work)
			throws SQLException {
		boolean autoCommit = connection.getAutoCommit();
		String isolation = (transaction || !autoCommit || this.dialect.isolatesStatements()) ? this.isolation : null;
		if (isolation == null && !transaction && autoCommit) {
			return work.on(connection);
		}
		try (Reset reset = () -> setAutoCommit(connection, autoCommit)) {
			try {
				if (isolation != null) {
					isolate(connection, isolation);
				}
				else if (transaction) {
					connection.setAutoCommit(false);
				}
				T result = work.on(connection);
				connection.commit();
				return result;
			}
			catch (SQLException | RuntimeException | Error ex) {
				rollback(connection, ex);
				throw ex;
			}
		}
	}

	private static void setAutoCommit(Connection connection, boolean necessary) throws SQLException {
		if (necessary && !connection.isClosed()) {
			connection.setAutoCommit(true);
		}
	}

	// Affects only the transaction: behind a pooler, clients share the session.
	private static void isolate(Connection connection, String isolation) throws SQLException {
		if (!connection.getAutoCommit()) {
			// The validation query of a pool may have begun a transaction.
			connection.rollback();
		}
		connection.setAutoCommit(false);
		try (Statement statement = connection.createStatement()) {
			statement.execute(isolation);
		}
	}

	private <T extends @Nullable Object> T limited(Connection connection, Work<T> work) throws SQLException {
		int previous = this.dialect.limit(connection, this.timeout);
		try (Reset reset = () -> restore(connection, previous)) {
			return work.on(connection);
		}
	}

	private void restore(Connection connection, int limit) throws SQLException {
		if (!connection.isClosed()) {
			this.dialect.restore(connection, limit);
		}
	}

	// Not every pool rolls back a returned connection.
	private static void rollback(Connection connection, Throwable reason) {
		try {
			connection.rollback();
		}
		catch (SQLException ex) {
			reason.addSuppressed(ex);
		}
	}

	private RuntimeException translate(SQLException ex) {
		if (this.dialect.is(Problem.CONTENTION, ex)) {
			return new OperationInProgressException(
					"A concurrent transaction holds the record, or a deadlock or a serialization failure ended this "
							+ "transaction (SQL state " + ex.getSQLState() + ")",
					RETRY_AFTER);
		}
		if (this.dialect.is(Problem.OUTAGE, ex)) {
			return unavailable(ex);
		}
		String refused = "The database refused the statement (SQL state " + ex.getSQLState() + ")";
		if (this.dialect.is(Problem.ISOLATION, ex)) {
			refused += ": " + ex.getMessage() + ". Set the isolation of the transaction or of the DataSource to "
					+ "READ COMMITTED, or set 'idempotency.jdbc.layout' to 'single'";
		}
		return new IdempotencyStoreRefusedException(refused, ex.getSQLState(), ex);
	}

	private static IdempotencyStoreUnavailableException unavailable(SQLException ex) {
		return new IdempotencyStoreUnavailableException(
				"The database is unavailable (SQL state " + ex.getSQLState() + ")", ex.getSQLState(), ex);
	}

	interface Work<T extends @Nullable Object> {

		T on(Connection connection) throws SQLException;

	}

	/**
	 * Resets a connection after work. An error of the work is not replaced by one of the
	 * reset, which fails if the driver or the pool has closed the connection.
	 */
	interface Reset extends AutoCloseable {

		@Override
		void close() throws SQLException;

	}

}
