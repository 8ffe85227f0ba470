/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.ExpiredRecords;

/**
 * Deletes expired rows of a table. On PostgreSQL, only one process does so at a time: it
 * acquires an advisory lock, the <em>cleanup turn</em>, before it pauses and deletes a
 * batch. The end of the transaction releases the lock. A process that does not acquire
 * the lock returns at once and deletes nothing. The lock belongs to a transaction and not
 * to a session, because a connection pooler may change the session. During the pause the
 * transaction holds neither a row nor a snapshot.
 */
final class ExpiredRows implements ExpiredRecords {

	private final JdbcExecutor executor;

	private final String table;

	private final ExpirySql sql;

	// How long an expired row may remain, because its whole partition may be dropped.
	private final Duration patience;

	// The end of the last batch. Deleted rows remain in the index until a vacuum, and
	// each batch would read all of them again.
	private volatile @Nullable OffsetDateTime reached;

	// The condition follows the one for the time after which a row has expired.
	ExpiredRows(JdbcExecutor executor, TableName table, String name, String time, String condition, Duration patience) {
		this.executor = executor.patient();
		this.table = name;
		this.sql = executor.dialect().expired(table, time, condition);
		this.patience = patience;
	}

	@Override
	public String table() {
		return this.table;
	}

	@Override
	public int deleteExpired(int limit, Duration pause) {
		Deleted deleted = this.executor
			.inNewTransaction((connection) -> (acquiresTurn(connection, pause) && pause(pause))
					? delete(connection, limit) : new Deleted(0, null));
		// The next run starts from the beginning, because locked rows may be free then.
		this.reached = (deleted.count() == limit) ? deleted.last() : null;
		return deleted.count();
	}

	private boolean acquiresTurn(Connection connection, Duration pause) throws SQLException {
		String silence = Long.toString(pause.plus(JdbcExecutor.PATIENCE).toMillis());
		return this.sql.turn()
			.first(connection, Parameters.of("silence", silence), (row) -> row.getBoolean(1))
			.orElse(false);
	}

	private static boolean pause(Duration pause) {
		try {
			Thread.sleep(pause.toMillis());
			return true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
	}

	private Deleted delete(Connection connection, int limit) throws SQLException {
		Parameters parameters = Parameters.of("patience", this.patience.toMillis())
			.with("reached", this.reached)
			.with("limit", limit);
		ValueTypes types = this.executor.dialect().types();
		return this.sql.deletion()
			.first(connection, parameters, (row) -> new Deleted(row.getInt(1), types.time(row, 2)))
			.orElseThrow();
	}

	@Override
	public Duration backlogAge() {
		long age = this.executor.first(this.sql.backlog(), Parameters.none(), (row) -> row.getLong(1)).orElse(0L);
		Duration late = Duration.ofMillis(age).minus(this.patience);
		return late.isNegative() ? Duration.ZERO : late;
	}

	private record Deleted(int count, @Nullable OffsetDateTime last) {

	}

}
