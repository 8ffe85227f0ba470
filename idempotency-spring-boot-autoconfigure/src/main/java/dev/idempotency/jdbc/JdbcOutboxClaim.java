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
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.jdbc.Dialect.Problem;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.RelayFailure;
import dev.idempotency.store.Failure;

/**
 * Locks lanes in a transaction of its own, reads the due messages in them, and records
 * the outcomes in the same transaction. If the process dies nothing is changed.
 */
final class JdbcOutboxClaim implements OutboxStore.Claim {

	private static final Log logger = LogFactory.getLog(JdbcOutboxClaim.class);

	// The number of reads if all messages of the previous read are blocked.
	private static final int READS = 20;

	private final Connection connection;

	private final OutboxSql sql;

	private final Dialect dialect;

	private final OutboxMarks marks;

	private final boolean delete;

	private final OutboxStore.DeadLetterPolicy onDeadLetter;

	// Undo the changes of the connection, the last one first.
	private final Deque<JdbcExecutor.Reset> resets = new ArrayDeque<>();

	private List<ClaimedRow> rows = List.of();

	// The ids of messages that were read and the ids of their blockers.
	private final Map<UUID, UUID> blocked = new LinkedHashMap<>();

	private boolean ended;

	private JdbcOutboxClaim(Connection connection, Dialect dialect, OutboxSql sql, OutboxMarks marks, boolean delete,
			OutboxStore.DeadLetterPolicy onDeadLetter) {
		this.connection = connection;
		this.sql = sql;
		this.dialect = dialect;
		this.marks = marks;
		this.delete = delete;
		this.onDeadLetter = onDeadLetter;
	}

	static JdbcOutboxClaim open(JdbcExecutor executor, OutboxSql sql, OutboxMarks marks, boolean delete,
			OutboxStore.DeadLetterPolicy onDeadLetter, int rows, Set<String> without) {
		try {
			JdbcOutboxClaim claim = new JdbcOutboxClaim(executor.dataSource().getConnection(), executor.dialect(), sql,
					marks, delete, onDeadLetter);
			try {
				claim.begin(executor.timeout());
				claim.find(rows, without);
				return claim;
			}
			catch (SQLException | RuntimeException | Error ex) {
				claim.close();
				throw ex;
			}
		}
		catch (SQLException ex) {
			throw new IdempotencyStoreUnavailableException(reason(sql.table(), executor.dialect(), ex), ex);
		}
	}

	private void begin(Duration timeout) throws SQLException {
		int limit = this.dialect.limit(this.connection, timeout);
		this.resets.push(() -> this.dialect.restore(this.connection, limit));
		int isolation = this.sql.begin(this.delete).isEmpty() ? this.connection.getTransactionIsolation()
				: Connection.TRANSACTION_READ_COMMITTED;
		boolean autoCommit = this.connection.getAutoCommit();
		if (!autoCommit) {
			// The validation query of a pool may have begun a transaction.
			this.connection.rollback();
		}
		// The claim must read rows that were committed before it locked their lane.
		if (isolation != Connection.TRANSACTION_READ_COMMITTED) {
			this.connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
			this.resets.push(() -> this.connection.setTransactionIsolation(isolation));
		}
		run(this.sql.limitIdleTime());
		this.resets.push(() -> run(this.sql.restoreIdleTime()));
		this.connection.setAutoCommit(false);
		this.resets.push(() -> this.connection.setAutoCommit(autoCommit));
	}

	private void find(int limit, Set<String> without) throws SQLException {
		// Moves the marks before lanes are locked.
		while (this.sql.look() != null && this.marks.areMissing()) {
			this.marks.look(this.connection, this.sql, this.sql.begin(this.delete));
			this.connection.commit();
		}
		boolean more = true;
		for (int i = 0; more && i < READS; i++) {
			this.rows = read(limit, without);
			more = this.rows.isEmpty() && !this.blocked.isEmpty();
			block();
			if (more) {
				this.connection.commit();
			}
		}
	}

	private void run(@Nullable String statement) throws SQLException {
		if (statement != null) {
			this.sql.statement(statement).update(this.connection, Parameters.none());
		}
	}

	private void block() throws SQLException {
		this.sql.statement(this.sql.block())
			.batch(this.connection,
					this.blocked.entrySet()
						.stream()
						.map((entry) -> Parameters.of("id", entry.getKey()).with("blocker", entry.getValue()))
						.toList());
		this.blocked.clear();
	}

	private static String reason(String table, Dialect dialect, SQLException ex) {
		String state = " (SQL state " + ex.getSQLState() + ")";
		if (dialect.is(Problem.DENIED, ex)) {
			return "The relay lacks a privilege on the outbox '" + table + "'" + state
					+ ". Grant the user of its DataSource SELECT, INSERT, UPDATE and DELETE on '" + table
					+ "', and SELECT and UPDATE on '" + table + "_lane'";
		}
		return dialect.is(Problem.LOCKED, ex) ? "Another transaction has locked the outbox '" + table + "'" + state
				+ ", for instance to create an index. No message is published before it ends. Create indexes with "
				+ "CONCURRENTLY"
				: "The database of the outbox '" + table + "' is unavailable or refused the statement" + state;
	}

	private List<ClaimedRow> read(int limit, Set<String> without) throws SQLException {
		OutboxSql.Claims statements = this.sql.claims(without);
		Parameters parameters = this.marks.parameters().with("topics", "text", without.toArray());
		List<Short> lanes = lock(statements, Math.min(limit, OutboxSql.LANES_OF_A_CLAIM), parameters);
		if (lanes.isEmpty()) {
			return List.of();
		}
		parameters.with("lanes", "smallint", lanes.toArray()).with("limit", this.sql.limit(limit, lanes.size()));
		List<ClaimedRow> due = new ArrayList<>();
		this.sql.statement(statements.rows()).query(this.connection, parameters, (row) -> {
			UUID blocker = this.sql.types().uuid(row, "blocker");
			if (blocker != null && this.onDeadLetter == OutboxStore.DeadLetterPolicy.BLOCK_KEY) {
				this.blocked.put(Objects.requireNonNull(this.sql.types().uuid(row, "id")), blocker);
				return false;
			}
			return due.add(OutboxRowMapper.claimed(row, this.sql.types()));
		});
		return due;
	}

	private List<Short> lock(OutboxSql.Claims statements, int lanes, Parameters parameters) throws SQLException {
		String look = this.sql.look();
		long number = (look != null) ? this.marks.begin(parameters) : 0;
		SqlStatement lock = this.sql
			.statement(this.sql.begin(this.delete) + ((number > 0) ? look + ";\n" : "") + statements.lockLanes());
		List<Short> locked = new ArrayList<>();
		try (PreparedStatement statement = lock.prepare(this.connection, parameters.with("some", lanes))) {
			ResultSet row = OutboxMarks.rows(statement, statement.execute());
			if (number > 0) {
				this.marks.learn(number, row);
				row = OutboxMarks.rows(statement, statement.getMoreResults());
			}
			while (row.next()) {
				locked.add(row.getShort(1));
			}
		}
		return locked;
	}

	@Override
	public List<ClaimedRow> rows() {
		return this.rows;
	}

	@Override
	public void settle(List<ClaimedRow> published, List<RelayFailure> failures) {
		try {
			if (!published.isEmpty()) {
				Object[] ids = published.stream().map((claimed) -> claimed.row().id()).toArray();
				int marked = this.sql.statement(this.sql.published(this.delete))
					.update(this.connection, Parameters.none().with("ids", "uuid", ids));
				if (marked != ids.length) {
					logger.error("Only " + marked + " of " + ids.length + " published messages of the outbox '"
							+ this.sql.table()
							+ "' could be marked as published. Another program has changed or deleted "
							+ "the others, which may be published twice. Check which program writes to the table");
				}
			}
			this.sql.statement(this.sql.failed())
				.batch(this.connection, failures.stream().map(JdbcOutboxClaim::parameters).toList());
			this.connection.commit();
			this.ended = true;
		}
		catch (SQLException ex) {
			throw new IdempotencyStoreUnavailableException(reason(this.sql.table(), this.dialect, ex), ex);
		}
	}

	private static Parameters parameters(RelayFailure failure) {
		Duration later = failure.retryAfter();
		return Parameters.of("id", failure.claimed().row().id())
			.with("attempts", failure.attempts())
			.failed(Failure.of(failure.error()))
			.with("delay", (later != null) ? later.toMillis() : 0L)
			.with("dead", later == null);
	}

	@Override
	public void close() {
		try (Connection closing = this.connection) {
			if (!this.ended && !closing.getAutoCommit()) {
				closing.rollback();
			}
			for (JdbcExecutor.Reset reset : this.resets) {
				reset.close();
			}
		}
		catch (SQLException ex) {
			logger.debug("Restoring the connection of the outbox failed", ex);
		}
	}

}
