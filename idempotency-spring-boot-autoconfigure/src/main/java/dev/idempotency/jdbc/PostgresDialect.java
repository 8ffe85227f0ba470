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
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

import org.postgresql.core.BaseConnection;
import org.postgresql.core.TransactionState;
import org.postgresql.util.PSQLException;
import org.springframework.util.ClassUtils;

/**
 * PostgreSQL. A statement for one record that may wait for a lock is limited by a
 * {@link StatementLimit}. One for several records, and each of a partitioned table, sets
 * {@code lock_timeout} for itself and restores the session's value when it succeeds;
 * otherwise a rollback restores it. Times are {@code clock_timestamp()}, because
 * {@code now()} is constant within a transaction.
 *
 * @param layout the layout of the table of records
 */
record PostgresDialect(Layout layout) implements Dialect {

	// The partition was dropped after the claim had read which one to fill.
	private static final String PARTITION_GONE = "23514";

	private static final String LOCK_NOT_AVAILABLE = "55P03";

	// Lock not available, serialization failure, deadlock.
	private static final Set<String> CONTENTION = Set.of(LOCK_NOT_AVAILABLE, "40001", "40P01");

	private static final String CANCELLED = "57014";

	private static final String DENIED = "42501";

	private static final String ABORTED = "25P02";

	// The functions of a partitioned table raise it for an isolation other than READ
	// COMMITTED. Pools would close the connection at 0A000.
	private static final String ISOLATION = "25004";

	// Resources, operator intervention, system.
	private static final List<String> OUTAGE = List.of("53", "57", "58");

	// The timeout ends the cleanup turn of a host that is gone or frozen. A shorter
	// one of the server would end the pause.
	private static final String CLEANUP_TURN = """
			SELECT pg_try_advisory_xact_lock(hashtext('dev.idempotency.cleanup'), hashoid('%1$s'::regclass)),
			  set_config('idle_in_transaction_session_timeout', :silence, true)""";

	// now(), because the index cannot be used with clock_timestamp(). Only in a single
	// table is the place of a row unique. An outbox may have partitions that the
	// application has made, so that the deletion repeats the condition.
	private static final String DELETION = """
			WITH batch AS MATERIALIZED (
			  SELECT %4$s FROM %1$s WHERE %2$s <= now() - :patience::bigint * interval '1 ms'
			    AND %2$s >= coalesce(:reached::timestamptz, '-infinity')%3$s
			  ORDER BY %2$s LIMIT :limit FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE %4$s = ANY (ARRAY(SELECT %4$s FROM batch))
			    AND %2$s <= now() - :patience::bigint * interval '1 ms'%3$s RETURNING %2$s)
			SELECT count(*), max(%2$s) FROM gone""";

	private static final String BACKLOG = """
			SELECT (extract(epoch FROM clock_timestamp() - %2$s) * 1000)::bigint
			FROM %1$s WHERE %2$s <= now()%3$s ORDER BY %2$s LIMIT 1""";

	private static final boolean DRIVER = ClassUtils.isPresent("org.postgresql.core.BaseConnection",
			PostgresDialect.class.getClassLoader());

	@Override
	public RecordSql records(TableName table, Duration lockWait) {
		return (this.layout == Layout.PARTITIONED) ? new PartitionedRecordSql(table, lockWait)
				: PostgresRecordSql.single(table, lockWait);
	}

	@Override
	public OutboxSql outbox(TableName table) {
		return new PostgresOutboxSql(table);
	}

	@Override
	public OffsetSql offsets(TableName table, Duration lockWait) {
		return OffsetSql.postgres(table, new StatementLimit(lockWait));
	}

	@Override
	public Catalog catalog() {
		return new PostgresCatalog(this.layout);
	}

	@Override
	public ExpirySql expired(TableName table, String time, String condition) {
		String row = (this.layout == Layout.SINGLE) ? "ctid" : "id";
		return new ExpirySql(SqlStatement.of(CLEANUP_TURN.formatted(table)),
				SqlStatement.of(DELETION.formatted(table, time, condition, row)),
				SqlStatement.of(BACKLOG.formatted(table, time, condition)));
	}

	@Override
	public boolean is(Problem problem, SQLException error) {
		String state = String.valueOf(error.getSQLState());
		return switch (problem) {
			case CONTENTION -> CANCELLED.equals(state) ? !DRIVER || Driver.waitedForRow(error)
					: CONTENTION.contains(state) || (this.layout == Layout.PARTITIONED && PARTITION_GONE.equals(state));
			case OUTAGE -> Problem.isOutage(error.getSQLState()) || OUTAGE.stream().anyMatch(state::startsWith);
			case DENIED -> DENIED.equals(state);
			case PERMANENT -> Problem.isPermanent(state);
			case LOCKED -> LOCK_NOT_AVAILABLE.equals(state);
			case ISOLATION -> ISOLATION.equals(state);
			case ABORTED -> ABORTED.equals(state);
			// The statements return a row instead of the error of a duplicate.
			case DUPLICATE, NOT_OWNED, TRANSACTION_ENDED, REPEATABLE -> false;
		};
	}

	@Override
	public boolean isAborted(Connection connection) throws SQLException {
		return DRIVER && Driver.isAborted(connection);
	}

	/**
	 * Reads from the driver what JDBC does not tell. It is a class of its own, because
	 * the driver is optional.
	 */
	private static final class Driver {

		// The place of a row, in each language of the server, in the first line only: the
		// functions of a partitioned table follow.
		private static final Pattern ROW = Pattern.compile("[^\\n]*\\(\\d+,\\d+\\)");

		// While a statement waits for the transaction that has written a row, the server
		// adds to an error which row it is. A cancelled statement without that was slow
		// or waited for the table: the database is not available.
		private static boolean waitedForRow(SQLException error) {
			if (!(error instanceof PSQLException cancelled) || cancelled.getServerErrorMessage() == null) {
				return true;
			}
			String where = cancelled.getServerErrorMessage().getWhere();
			return where != null && ROW.matcher(where).lookingAt();
		}

		private static boolean isAborted(Connection connection) throws SQLException {
			return connection.isWrapperFor(BaseConnection.class)
					&& connection.unwrap(BaseConnection.class).getTransactionState() == TransactionState.FAILED;
		}

	}

}
