/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

import javax.sql.DataSource;

import org.springframework.context.Lifecycle;
import org.springframework.dao.InvalidDataAccessResourceUsageException;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.jdbc.Dialect.Problem;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.DeadLetter;
import dev.idempotency.outbox.OutboxStore.Status;
import dev.idempotency.store.EndedTransactions;
import dev.idempotency.store.ExpiredRecords;

/**
 * An outbox in a table of a relational database.
 *
 * @since 0.1.0
 */
public final class JdbcOutboxStore implements OutboxStore {

	private static final DefaultTransactionDefinition EXISTING = new DefaultTransactionDefinition(
			TransactionDefinition.PROPAGATION_MANDATORY);

	static {
		// A strict manager would refuse to join a read-only transaction otherwise.
		EXISTING.setReadOnly(true);
	}

	// Other instances may also retry and discard dead letters.
	private static final Duration UNBLOCK_INTERVAL = Duration.ofSeconds(5);

	private static final int UNBLOCK_LIMIT = 1000;

	private final PlatformTransactionManager manager;

	private final EndedTransactions ended;

	private final TableName table;

	private final TableName qualified;

	private final Duration retention;

	private final boolean logged;

	private final OutboxStore.DeadLetterPolicy onDeadLetter;

	private final JdbcExecutor executor;

	private final JdbcExecutor patient;

	private final OutboxSql sql;

	private final SqlStatement insert;

	private final OutboxMarks marks = new OutboxMarks(System::nanoTime);

	private volatile long unblockDueAt = System.nanoTime() + UNBLOCK_INTERVAL.toNanos();

	/**
	 * Create an outbox in which a dead letter blocks later messages with the same topic
	 * and key.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param manager the manager of the transactions in which messages are sent
	 * @param table the name of the table, with or without a schema
	 * @param timeout how long a statement may take that the application waits for
	 * @param retention how long a message is kept after its publication; zero deletes it
	 * at once
	 * @param logged whether change data capture (Debezium) publishes the rows, so that no
	 * relay is needed
	 */
	public JdbcOutboxStore(DataSource dataSource, PlatformTransactionManager manager, String table, Duration timeout,
			Duration retention, boolean logged) {
		this(dataSource, manager, table, timeout, retention, logged, OutboxStore.DeadLetterPolicy.BLOCK_KEY);
	}

	/**
	 * Create an outbox.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param manager the manager of the transactions in which messages are sent
	 * @param table the name of the table, with or without a schema
	 * @param timeout how long a statement may take that the application waits for
	 * @param retention how long a message is kept after its publication; zero deletes it
	 * at once
	 * @param logged whether change data capture (Debezium) publishes the rows, so that no
	 * relay is needed
	 * @param onDeadLetter whether a dead letter blocks later messages with the same topic
	 * and key
	 */
	public JdbcOutboxStore(DataSource dataSource, PlatformTransactionManager manager, String table, Duration timeout,
			Duration retention, boolean logged, OutboxStore.DeadLetterPolicy onDeadLetter) {
		IdempotencyConfigurationException.check(!retention.isNegative(),
				"The outbox keeps published messages for " + retention + ".",
				"Set 'idempotency.outbox.retention' to zero or more.");
		IdempotencyConfigurationException.check(logged || !DatabaseInspection.isRouting(dataSource),
				"The DataSource of the outbox chooses its database by the thread (AbstractRoutingDataSource). The relay "
						+ "would not find the messages of every database.",
				"Name a DataSource that always leads to the same database with 'idempotency.jdbc.data-source', or "
						+ "publish with a connector for each database: set 'idempotency.outbox.relay' to 'debezium'.");
		this.manager = manager;
		this.ended = EndedTransactions.of(manager);
		this.table = TableName.of(table);
		this.retention = retention;
		this.logged = logged;
		this.onDeadLetter = onDeadLetter;
		DatabaseInspection database = DatabaseInspection.of(dataSource, this.table, Layout.SINGLE);
		this.executor = new JdbcExecutor(dataSource, database.dialect(), null, timeout);
		this.patient = this.executor.patient();
		this.qualified = database.table();
		this.sql = database.dialect().outbox(this.qualified);
		this.insert = OutboxRowMapper.insert(this.sql, logged);
	}

	@Override
	public String table() {
		return this.table.toString();
	}

	@Override
	public void insert(List<OutboxRow> rows) {
		requireTransaction(rows.get(0));
		try {
			this.executor.inTransaction((connection) -> this.insert.batch(connection,
					rows.stream().map(OutboxRowMapper::parameters).toList()));
		}
		catch (IdempotencyStoreRefusedException ex) {
			if (ex.getCause() instanceof SQLException cause && this.executor.dialect().is(Problem.PERMANENT, cause)) {
				throw new InvalidDataAccessResourceUsageException("The database refuses the " + rows.get(0)
						+ ", or another message that is sent with it, for the outbox '" + this.table + "' (SQL state "
						+ cause.getSQLState() + "). Fix the message, the table or the privileges", cause);
			}
			throw ex;
		}
	}

	// Requires a transaction of the manager with a connection of the outbox's
	// DataSource, without a round trip. A connection that is bound to the thread
	// proves nothing: a read within a transaction of another DataSource also binds
	// one, which never commits.
	private void requireTransaction(OutboxRow row) {
		// Otherwise getTransaction() would begin a synchronization.
		Assert.state(TransactionSynchronizationManager.isSynchronizationActive(),
				() -> "No transaction is active for the " + row + ". Send it in a transaction");
		try {
			this.manager.getTransaction(EXISTING);
		}
		catch (IllegalTransactionStateException ex) {
			throw new IllegalStateException(
					"The active transaction is not one of the outbox's transaction manager, a "
							+ this.manager.getClass().getName() + ", so the " + row
							+ " would be lost. Send it in a transaction of that manager, which @Transactional can name",
					ex);
		}
		Assert.state(TransactionSynchronizationManager.hasResource(this.executor.dataSource()),
				() -> "The current transaction does not bind a connection of the outbox's DataSource, so the " + row
						+ " would not commit with it. Use the transaction manager of that DataSource");
		Assert.state(!this.ended.isCurrent(), () -> "The transaction of the " + row
				+ " has already ended, so the message would be lost. Send it before the commit, or in a new transaction "
				+ "(REQUIRES_NEW)");
	}

	@Override
	public OutboxStore.Claim claim(int limit, Set<String> without) {
		unblock();
		return JdbcOutboxClaim.open(this.patient, this.sql, this.marks, this.retention.isZero(), this.onDeadLetter,
				limit, without);
	}

	// Makes messages pending again whose dead letter was retried or discarded. The
	// relay does so, because a claim may block further messages while an operator
	// retries one.
	private void unblock() {
		long now = System.nanoTime();
		if (now - this.unblockDueAt < 0) {
			return;
		}
		this.unblockDueAt = now + UNBLOCK_INTERVAL.toNanos();
		String statement = (this.onDeadLetter == OutboxStore.DeadLetterPolicy.SKIP) ? this.sql.unblockAll()
				: this.sql.unblock();
		if (this.patient.update(this.sql.statement(statement), Parameters.of("limit", UNBLOCK_LIMIT)) > 0) {
			// There may be more messages, and some that wait for those.
			this.unblockDueAt = System.nanoTime();
		}
	}

	@Override
	public void notifyRelays() {
		String statement = this.sql.notifyRelays();
		if (statement != null) {
			this.executor.update(this.sql.statement(statement), Parameters.none());
		}
	}

	/**
	 * The published messages whose retention has expired.
	 * @return the messages that a cleanup deletes
	 */
	public ExpiredRecords expired() {
		return new ExpiredRows(this.executor, this.qualified, table(), "published_at", "", this.retention);
	}

	/**
	 * Receives notifications of other instances about messages. Needs the driver of
	 * PostgreSQL.
	 * @param listener run when a notification arrives
	 * @return the receiver to be started, if the database is PostgreSQL
	 */
	public Optional<Lifecycle> notifications(Runnable listener) {
		return (this.sql.notifyRelays() != null)
				? Optional.of(new OutboxNotifications(this.executor.dataSource(), this.table, listener))
				: Optional.empty();
	}

	/**
	 * Whether change data capture receives the messages.
	 * @return whether a publication contains the table; {@code true} if the database has
	 * no publications
	 */
	public boolean isInPublication() {
		String statement = this.sql.inPublication();
		return statement == null
				|| this.patient.first(this.sql.statement(statement), Parameters.none(), (row) -> row.getBoolean(1))
					.orElse(false);
	}

	@Override
	public Status status() {
		return this.patient.autonomous((connection) -> {
			// Moves the marks also for an instance without a relay, which has no claims.
			if (this.sql.look() != null) {
				do {
					this.marks.look(connection, this.sql, "");
				}
				while (this.marks.areMissing());
			}
			Parameters parameters = this.marks.parameters().with("most", Status.MAX_COUNT);
			return this.sql.statement(this.sql.status())
				.first(connection, parameters, (row) -> OutboxRowMapper.status(row, this.sql.types()))
				.orElseThrow();
		});
	}

	@Override
	public List<DeadLetter> deadLetters(int limit) {
		return this.patient.query(this.sql.statement(this.sql.deadLetters()), Parameters.of("limit", limit),
				(row) -> OutboxRowMapper.deadLetter(row, this.sql.types()));
	}

	@Override
	public boolean retry(UUID id) {
		requireRelay();
		return change(this.sql.retry(), Parameters.of("id", id)) == 1;
	}

	@Override
	public int retry(String topic, int limit) {
		requireRelay();
		return change(this.sql.retryOfTopic(), Parameters.of("topic", topic).with("limit", limit));
	}

	@Override
	public boolean discard(UUID id) {
		return change(this.sql.discard(), Parameters.of("id", id)) == 1;
	}

	@Override
	public int discard(String topic, int limit) {
		return change(this.sql.discardOfTopic(), Parameters.of("topic", topic).with("limit", limit));
	}

	private void requireRelay() {
		if (this.logged) {
			throw new UnsupportedOperationException("The outbox '" + this.table + "' is published from the log of the "
					+ "database, which reports a message once. Discard the message, or run an instance with a relay");
		}
	}

	private int change(String statement, Parameters parameters) {
		int changed = this.executor.update(this.sql.statement(statement), parameters);
		this.unblockDueAt = System.nanoTime();
		return changed;
	}

}
