package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.outbox.OnRefused;
import dev.idempotency.outbox.OutboxClaim;
import dev.idempotency.outbox.OutboxClaim.ClaimedRow;
import dev.idempotency.outbox.OutboxClaim.RelayFailure;
import dev.idempotency.store.Failure;

/**
 * Locks lanes in a transaction of its own, reads what is due in them, and records in the
 * same transaction what came of it. A process that dies leaves everything as it was.
 */
final class JdbcOutboxClaim implements OutboxClaim {

	private static final Log logger = LogFactory.getLog(JdbcOutboxClaim.class);

	private static final String NO_PRIVILEGE = "42501";

	private static final String LOCKED = "55P03";

	// Where all that is read is blocked, the next messages are read, so many times.
	private static final int READS = 20;

	private final Connection connection;

	private final OutboxSql sql;

	private final Dialect dialect;

	private final OutboxMarks marks;

	private final boolean delete;

	private final OnRefused onRefused;

	private final int limit;

	private final int isolation;

	private final boolean autoCommit;

	private List<ClaimedRow> rows = List.of();

	// The identities of messages that were read, and of what each waits for.
	private final Map<UUID, UUID> blocked = new LinkedHashMap<>();

	private boolean ended;

	private JdbcOutboxClaim(Connection connection, OutboxSql sql, Dialect dialect, OutboxMarks marks, Duration timeout,
			boolean delete, OnRefused onRefused) throws SQLException {
		this.connection = connection;
		this.sql = sql;
		this.dialect = dialect;
		this.marks = marks;
		this.delete = delete;
		this.onRefused = onRefused;
		this.limit = dialect.limit(connection, timeout);
		this.isolation = sql.begin(delete).isEmpty() ? connection.getTransactionIsolation()
				: Connection.TRANSACTION_READ_COMMITTED;
		this.autoCommit = connection.getAutoCommit();
	}

	static JdbcOutboxClaim open(DataSource dataSource, OutboxSql sql, Dialect dialect, OutboxMarks marks,
			Duration timeout, boolean delete, OnRefused onRefused, int rows, Set<String> without) {
		try {
			JdbcOutboxClaim claim = of(dataSource.getConnection(), sql, dialect, marks, timeout, delete, onRefused);
			try {
				claim.begin(rows, without);
				return claim;
			}
			catch (SQLException | RuntimeException | Error ex) {
				claim.close();
				throw ex;
			}
		}
		catch (SQLException ex) {
			throw unavailable(sql, ex);
		}
	}

	private static JdbcOutboxClaim of(Connection connection, OutboxSql sql, Dialect dialect, OutboxMarks marks,
			Duration timeout, boolean delete, OnRefused onRefused) throws SQLException {
		try {
			return new JdbcOutboxClaim(connection, sql, dialect, marks, timeout, delete, onRefused);
		}
		catch (SQLException | RuntimeException | Error ex) {
			connection.close();
			throw ex;
		}
	}

	private void begin(int limit, Set<String> without) throws SQLException {
		if (!this.autoCommit) {
			// The query with which a pool tests its connections may have begun one.
			this.connection.rollback();
		}
		// What others have committed before a lane was locked has to be seen.
		if (this.isolation != Connection.TRANSACTION_READ_COMMITTED) {
			this.connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
		}
		this.connection.setAutoCommit(false);
		String look = this.sql.look();
		while (look != null && this.marks.areToBeFound()) {
			look(look);
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

	// Before lanes are locked.
	private void look(String look) throws SQLException {
		Map<String, Object> parameters = new HashMap<>();
		long number = this.marks.begin(parameters);
		if (number > 0) {
			try (PreparedStatement statement = NamedStatement.of(this.sql.begin(this.delete) + look)
				.prepare(this.connection, parameters)) {
				this.marks.learn(number, rows(statement, statement.execute()));
			}
			this.connection.commit();
		}
	}

	private void block() throws SQLException {
		if (this.blocked.isEmpty()) {
			return;
		}
		try (PreparedStatement statement = this.connection.prepareStatement(this.sql.block())) {
			for (Map.Entry<UUID, UUID> entry : this.blocked.entrySet()) {
				statement.setObject(1, entry.getValue());
				statement.setObject(2, entry.getKey());
				statement.addBatch();
			}
			statement.executeBatch();
		}
		this.blocked.clear();
	}

	private IdempotencyStoreUnavailableException unavailable(SQLException ex) {
		return unavailable(this.sql, ex);
	}

	private static IdempotencyStoreUnavailableException unavailable(OutboxSql sql, SQLException ex) {
		return new IdempotencyStoreUnavailableException(reason(sql.table(), String.valueOf(ex.getSQLState())), ex);
	}

	private static String reason(String table, String state) {
		return switch (state) {
			case NO_PRIVILEGE -> "The database refuses the relay a privilege on the outbox '" + table
					+ "' (SQL state 42501); grant the user of its DataSource SELECT, INSERT, UPDATE and DELETE on '"
					+ table + "', and SELECT and UPDATE on '" + table + "_lane'";
			case LOCKED -> "Another transaction has locked the outbox '" + table
					+ "' (SQL state 55P03), for instance to create an index; nothing is sent before it ends. Create indexes "
					+ "with CONCURRENTLY";
			default -> "The database of the outbox '" + table + "' did not answer or refused the statement (SQL state "
					+ state + ")";
		};
	}

	private List<ClaimedRow> read(int limit, Set<String> without) throws SQLException {
		OutboxSql.Claims statements = this.sql.claims(without);
		Map<String, Object> parameters = this.marks.parameters();
		parameters.put("topics", new ArrayParameter("text", without.toArray()));
		List<Short> lanes = lock(statements, Math.min(limit, OutboxSql.LANES_OF_A_CLAIM), parameters);
		if (lanes.isEmpty()) {
			return List.of();
		}
		parameters.put("lanes", new ArrayParameter("smallint", lanes.toArray()));
		parameters.put("limit", this.sql.limit(limit, lanes.size()));
		List<ClaimedRow> due = new ArrayList<>();
		try (PreparedStatement statement = NamedStatement.of(statements.rows()).prepare(this.connection, parameters);
				ResultSet row = statement.executeQuery()) {
			while (row.next()) {
				UUID blocker = row.getObject("blocker", UUID.class);
				if (blocker != null && this.onRefused == OnRefused.BLOCK_KEY) {
					this.blocked.put(row.getObject("id", UUID.class), blocker);
				}
				else {
					due.add(OutboxRows.claimed(row));
				}
			}
		}
		return due;
	}

	private List<Short> lock(OutboxSql.Claims statements, int some, Map<String, Object> parameters)
			throws SQLException {
		String look = this.sql.look();
		long number = (look != null) ? this.marks.begin(parameters) : 0;
		parameters.put("some", some);
		NamedStatement lock = NamedStatement
			.of(this.sql.begin(this.delete) + ((number > 0) ? look + ";\n" : "") + statements.lockLanes());
		List<Short> lanes = new ArrayList<>();
		try (PreparedStatement statement = lock.prepare(this.connection, parameters)) {
			ResultSet row = rows(statement, statement.execute());
			if (number > 0) {
				this.marks.learn(number, row);
				row = rows(statement, statement.getMoreResults());
			}
			while (row.next()) {
				lanes.add(row.getShort(1));
			}
		}
		return lanes;
	}

	private static ResultSet rows(PreparedStatement statement, boolean found) throws SQLException {
		boolean rows = found;
		while (!rows) {
			rows = statement.getMoreResults();
		}
		return statement.getResultSet();
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
				int marked = Connections.update(this.connection,
						this.delete ? this.sql.deletePublished() : this.sql.published(),
						new ArrayParameter("uuid", ids));
				if (marked != ids.length) {
					logger.error("Of " + ids.length + " published messages of the outbox '" + this.sql.table()
							+ "' only " + marked
							+ " could be marked; something else has changed or deleted the others, and they may "
							+ "be published twice; look for a script or a person that changes the table");
				}
			}
			fail(failures);
			this.connection.commit();
			this.ended = true;
		}
		catch (SQLException ex) {
			throw unavailable(ex);
		}
	}

	private void fail(List<RelayFailure> failures) throws SQLException {
		if (failures.isEmpty()) {
			return;
		}
		try (PreparedStatement statement = this.connection.prepareStatement(this.sql.failed())) {
			for (RelayFailure failure : failures) {
				Failure error = Failure.of(failure.error());
				Duration later = failure.retryAfter();
				statement.setInt(1, failure.attempts());
				statement.setString(2, error.type());
				statement.setString(3, error.message());
				statement.setLong(4, (later != null) ? later.toMillis() : 0);
				statement.setBoolean(5, later == null);
				statement.setObject(6, failure.claimed().row().id());
				statement.addBatch();
			}
			statement.executeBatch();
		}
	}

	@Override
	public void close() {
		try (Connection closing = this.connection) {
			if (!this.ended && !closing.getAutoCommit()) {
				closing.rollback();
			}
			closing.setAutoCommit(this.autoCommit);
			if (this.isolation != Connection.TRANSACTION_READ_COMMITTED) {
				closing.setTransactionIsolation(this.isolation);
			}
			this.dialect.restore(closing, this.limit);
		}
		catch (SQLException ex) {
			logger.debug("The connection of the outbox could not be given back in order", ex);
		}
	}

}
