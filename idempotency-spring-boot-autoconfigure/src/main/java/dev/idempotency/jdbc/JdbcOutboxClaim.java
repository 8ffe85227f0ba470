package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.Failure;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.outbox.ClaimedRow;
import dev.idempotency.outbox.OutboxClaim;
import dev.idempotency.outbox.RelayFailure;

/**
 * Locks lanes in a transaction of its own, reads what is due in them, and records in the
 * same transaction what came of it. A process that dies leaves everything as it was.
 */
final class JdbcOutboxClaim implements OutboxClaim {

	private static final Log logger = LogFactory.getLog(JdbcOutboxClaim.class);

	private final Connection connection;

	private final OutboxSql sql;

	private final Dialect dialect;

	private final boolean delete;

	private final int limit;

	private final int isolation;

	private final boolean autoCommit;

	private final List<ClaimedRow> rows;

	private boolean ended;

	private JdbcOutboxClaim(Connection connection, OutboxSql sql, Dialect dialect, Duration timeout, boolean delete,
			int rows, Set<String> without) throws SQLException {
		this.connection = connection;
		this.sql = sql;
		this.dialect = dialect;
		this.delete = delete;
		this.limit = dialect.limit(connection, timeout);
		this.isolation = connection.getTransactionIsolation();
		this.autoCommit = connection.getAutoCommit();
		// What others have committed before a lane was locked has to be seen.
		if (this.isolation != Connection.TRANSACTION_READ_COMMITTED) {
			connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
		}
		connection.setAutoCommit(false);
		this.rows = read(rows, new ArrayParameter("text", without.toArray()));
	}

	static JdbcOutboxClaim open(DataSource dataSource, OutboxSql sql, Dialect dialect, Duration timeout, boolean delete,
			int rows, Set<String> without) {
		try {
			Connection connection = dataSource.getConnection();
			try {
				return new JdbcOutboxClaim(connection, sql, dialect, timeout, delete, rows, without);
			}
			catch (SQLException | RuntimeException ex) {
				Connections.rollback(connection, ex);
				try (connection) {
					// Not every pool does so itself.
					connection.setAutoCommit(true);
				}
				catch (SQLException closing) {
					ex.addSuppressed(closing);
				}
				throw ex;
			}
		}
		catch (SQLException ex) {
			throw unavailable(ex);
		}
	}

	private static IdempotencyStoreUnavailableException unavailable(SQLException ex) {
		return new IdempotencyStoreUnavailableException(
				"The database of the outbox did not answer or refused the statement (SQL state " + ex.getSQLState()
						+ ")",
				ex);
	}

	private List<ClaimedRow> read(int limit, ArrayParameter without) throws SQLException {
		List<Short> lanes = new ArrayList<>();
		try (PreparedStatement statement = Connections.prepare(this.connection, this.sql.lockLanes(), without,
				Math.min(limit, OutboxSql.LANES_OF_A_CLAIM)); ResultSet row = statement.executeQuery()) {
			while (row.next()) {
				lanes.add(row.getShort(1));
			}
		}
		if (lanes.isEmpty()) {
			return List.of();
		}
		List<ClaimedRow> due = new ArrayList<>();
		try (PreparedStatement statement = Connections.prepare(this.connection, this.sql.rows(),
				new ArrayParameter("smallint", lanes.toArray()), without, this.sql.limit(limit, lanes.size()));
				ResultSet row = statement.executeQuery()) {
			while (row.next()) {
				due.add(OutboxRows.claimed(row));
			}
		}
		return due;
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
					logger.error("Of " + ids.length + " published messages of the outbox only " + marked
							+ " could be marked; somebody else has changed the others, and may have published them, too");
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
		for (RelayFailure failure : failures) {
			Failure error = Failure.of(failure.error());
			Duration later = failure.retryAfter();
			Connections.update(this.connection, this.sql.failed(), failure.attempts(), error.type(), error.message(),
					(later != null) ? later.toMillis() : 0, later == null, failure.claimed().row().id());
		}
	}

	@Override
	public void close() {
		try (Connection closing = this.connection) {
			if (!this.ended) {
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
