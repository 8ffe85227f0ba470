package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;

import javax.sql.DataSource;

import org.springframework.context.Lifecycle;
import org.springframework.dao.InvalidDataAccessResourceUsageException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.outbox.OnRefused;
import dev.idempotency.outbox.OutboxClaim;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.DeadLetter;
import dev.idempotency.outbox.OutboxStore.Status;
import dev.idempotency.store.ExpiredRecords;

/**
 * An outbox in a table of a relational database.
 *
 * @since 0.1.0
 */
public final class JdbcOutboxStore implements OutboxStore {

	// Data exception, constraint, syntax or access rule.
	private static final Set<String> REFUSALS = Set.of("22", "23", "42");

	private static final String READ_ONLY = "25006";

	// Of what nobody waits for. While some transaction of the database is very old,
	// reading
	// is slow: what has been published since cannot leave the indexes.
	private static final Duration PATIENCE = Duration.ofSeconds(30);

	private final DataSource dataSource;

	private final OutboxTransactions transactions;

	private final TableName table;

	private final TableName qualified;

	private final Duration timeout;

	private final Duration retention;

	private final boolean logged;

	private final Dialect dialect;

	private final Connections connections;

	private final OutboxSql sql;

	private final OutboxMarks marks = new OutboxMarks(System::nanoTime);

	private final String insert;

	private final OnRefused onRefused;

	private final BlockedMessages blocked;

	/**
	 * Create an outbox in which messages wait for an earlier one with their topic and key
	 * that is set aside.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param manager the manager of the transactions in which messages are sent
	 * @param table the name of the table
	 * @param timeout how long a statement may take that an application waits for
	 * @param retention how long a message is kept after its publication; with zero it is
	 * deleted at once
	 * @param logged whether change data capture (Debezium) publishes the rows, so that no
	 * relay has to
	 */
	public JdbcOutboxStore(DataSource dataSource, PlatformTransactionManager manager, TableName table, Duration timeout,
			Duration retention, boolean logged) {
		this(dataSource, manager, table, timeout, retention, logged, OnRefused.BLOCK_KEY);
	}

	/**
	 * Create an outbox.
	 * @param dataSource the database, the same object that the transaction manager has
	 * @param manager the manager of the transactions in which messages are sent
	 * @param table the name of the table
	 * @param timeout how long a statement may take that an application waits for
	 * @param retention how long a message is kept after its publication; with zero it is
	 * deleted at once
	 * @param logged whether change data capture (Debezium) publishes the rows, so that no
	 * relay has to
	 * @param onRefused what happens to messages that follow one that is set aside
	 */
	public JdbcOutboxStore(DataSource dataSource, PlatformTransactionManager manager, TableName table, Duration timeout,
			Duration retention, boolean logged, OnRefused onRefused) {
		if (retention.isNegative()) {
			throw new IdempotencyConfigurationException("The outbox keeps published messages for " + retention + ".",
					"Set 'idempotency.outbox.retention' to zero or more.");
		}
		if (!logged && Databases.isRouting(dataSource)) {
			throw new IdempotencyConfigurationException(
					"The DataSource of the outbox chooses its database by the thread (AbstractRoutingDataSource), so that "
							+ "the relay would not find the messages of every database.",
					"Name a DataSource that always leads to the same database with 'idempotency.jdbc.data-source', or "
							+ "publish with a connector for each database: set 'idempotency.outbox.relay' to 'debezium'.");
		}
		this.dataSource = dataSource;
		this.transactions = new OutboxTransactions(manager, dataSource);
		this.table = table;
		this.timeout = timeout;
		this.retention = retention;
		this.logged = logged;
		this.dialect = Databases.dialect(dataSource, Layout.SINGLE);
		this.connections = new Connections(dataSource, this.dialect);
		this.qualified = Databases.qualified(dataSource, this.dialect, table);
		this.sql = this.dialect.outbox(this.qualified);
		this.insert = this.sql.insert(logged);
		this.onRefused = onRefused;
		this.blocked = new BlockedMessages(this.connections, PATIENCE, this.sql, onRefused);
	}

	@Override
	public String table() {
		return this.table.toString();
	}

	@Override
	public void insert(List<OutboxRow> rows) {
		this.transactions.require(rows.get(0));
		try {
			add(rows);
		}
		catch (IdempotencyStoreRefusedException ex) {
			if (ex.getCause() instanceof SQLException cause && isRefusal(cause)) {
				throw new InvalidDataAccessResourceUsageException("The database refuses the " + rows.get(0)
						+ ", or another that is sent with it, for the outbox '" + this.table + "' (SQL state "
						+ cause.getSQLState() + "); mend the message, the table or the rights", cause);
			}
			throw ex;
		}
	}

	// What the next delivery of a record would meet again: data, rights, a table that is
	// missing. Not a server that is no longer the primary one.
	private static boolean isRefusal(SQLException error) {
		String state = error.getSQLState();
		return READ_ONLY.equals(state) ? TransactionSynchronizationManager.isCurrentTransactionReadOnly()
				: state != null && REFUSALS.contains(state.substring(0, 2));
	}

	private void add(List<OutboxRow> rows) {
		this.connections.inTransaction(this.timeout, (connection) -> {
			try (PreparedStatement statement = connection.prepareStatement(this.insert)) {
				for (OutboxRow row : rows) {
					OutboxRows.bind(statement, row);
					statement.addBatch();
				}
				return statement.executeBatch();
			}
		});
	}

	@Override
	public OutboxClaim claim(int limit, Set<String> without) {
		this.blocked.unblock();
		return JdbcOutboxClaim.open(this.dataSource, this.sql, this.dialect, this.marks, PATIENCE,
				this.retention.isZero(), this.onRefused, limit, without);
	}

	@Override
	public void notifyRelays() {
		String statement = this.sql.notifyRelays();
		if (statement != null) {
			this.connections.autonomous(this.timeout, (connection) -> Connections.update(connection, statement));
		}
	}

	/**
	 * The messages whose publication is longer ago than they are kept.
	 * @return what a cleanup deletes
	 */
	public ExpiredRecords expired() {
		return new PublishedRows(table(), new ExpiredRows(this.connections, this.dialect.cleanupTurn(this.qualified),
				this.sql.delete(), this.sql.backlog(), this.retention));
	}

	/**
	 * What tells of messages of other instances. Needs the driver of PostgreSQL.
	 * @param heard run when there are some
	 * @return something to be started, if the database is PostgreSQL
	 */
	public Optional<Lifecycle> notifications(Runnable heard) {
		return (this.sql.notifyRelays() != null)
				? Optional.of(new PostgresNotifications(this.dataSource, this.table, heard)) : Optional.empty();
	}

	/**
	 * Whether readers of the database's log get the messages.
	 * @return whether a publication has the table; {@code true} if the database has no
	 * publications
	 */
	public boolean isInPublication() {
		String statement = this.sql.inPublication();
		return statement == null || this.connections.autonomous(PATIENCE, (connection) -> {
			try (PreparedStatement asked = connection.prepareStatement(statement);
					ResultSet row = asked.executeQuery()) {
				return row.next() && row.getBoolean(1);
			}
		});
	}

	@Override
	public Status status() {
		return this.connections.autonomous(PATIENCE, (connection) -> {
			look(connection);
			Map<String, Object> parameters = this.marks.parameters();
			parameters.put("most", Status.MAX_COUNT);
			try (PreparedStatement statement = NamedStatement.of(this.sql.status()).prepare(connection, parameters);
					ResultSet row = statement.executeQuery()) {
				row.next();
				OffsetDateTime now = row.getObject(3, OffsetDateTime.class);
				Duration pending = OutboxRows.age(row.getObject(2, OffsetDateTime.class), now);
				Duration blocked = OutboxRows.age(row.getObject(6, OffsetDateTime.class), now);
				return new Status(row.getLong(1), (pending.compareTo(blocked) > 0) ? pending : blocked, row.getLong(4),
						row.getLong(5));
			}
		});
	}

	// An instance without a relay has no claims that look.
	private void look(Connection connection) throws SQLException {
		String look = this.sql.look();
		if (look == null) {
			return;
		}
		do {
			Map<String, Object> parameters = new HashMap<>();
			long number = this.marks.begin(parameters);
			if (number > 0) {
				try (PreparedStatement statement = NamedStatement.of(look).prepare(connection, parameters);
						ResultSet row = statement.executeQuery()) {
					this.marks.learn(number, row);
				}
			}
		}
		while (this.marks.areToBeFound());
	}

	@Override
	public List<DeadLetter> deadLetters(int limit) {
		return this.connections.autonomous(PATIENCE, (connection) -> {
			List<DeadLetter> found = new ArrayList<>();
			try (PreparedStatement statement = Connections.prepare(connection, this.sql.deadLetters(), limit);
					ResultSet row = statement.executeQuery()) {
				while (row.next()) {
					found.add(OutboxRows.deadLetter(row));
				}
			}
			return found;
		});
	}

	@Override
	public boolean retry(UUID id) {
		requireRelay();
		return change(this.sql.retry(), id) == 1;
	}

	@Override
	public int retry(String topic, int limit) {
		requireRelay();
		return change(this.sql.retryOfTopic(), topic, limit);
	}

	@Override
	public boolean discard(UUID id) {
		return change(this.sql.discard(), id) == 1;
	}

	@Override
	public int discard(String topic, int limit) {
		return change(this.sql.discardOfTopic(), topic, limit);
	}

	private void requireRelay() {
		if (this.logged) {
			throw new UnsupportedOperationException("The outbox '" + this.table + "' is published from the log of the "
					+ "database, which tells of a message once; discard it, or run an instance with a relay");
		}
	}

	private int change(String statement, Object... parameters) {
		int changed = this.connections.autonomous(this.timeout,
				(connection) -> Connections.update(connection, statement, parameters));
		this.blocked.changed();
		return changed;
	}

}
