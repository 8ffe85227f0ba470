package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;

import org.jspecify.annotations.Nullable;

/**
 * Deletes expired rows. One process at a time, for the whole of its run: it takes the
 * turn before it pauses and gives it back with the commit of the batch, so that others
 * find it taken. The turn belongs to a transaction, not to a session, whose connection a
 * pooler in between might change. While it pauses the transaction holds no row and no
 * snapshot.
 */
final class ExpiredRows {

	static final Duration TIMEOUT = Duration.ofSeconds(30);

	private final Connections connections;

	private final String turn;

	private final String delete;

	private final String backlog;

	// How long a row may lie there although it has expired: its partition may go as a
	// whole.
	private final Duration patience;

	// Where the last batch ended. What it has deleted stays in the index until a vacuum,
	// and
	// each batch would read all of it again.
	private volatile @Nullable OffsetDateTime reached;

	ExpiredRows(Connections connections, String turn, String delete, String backlog, Duration patience) {
		this.connections = connections;
		this.turn = turn;
		this.delete = delete;
		this.backlog = backlog;
		this.patience = patience;
	}

	int delete(int limit, Duration pause) {
		Deleted deleted = this.connections.autonomous(TIMEOUT, (connection) -> {
			boolean autoCommit = connection.getAutoCommit();
			connection.setAutoCommit(false);
			try {
				Deleted batch = (isOurTurn(connection, pause) && paused(pause)) ? delete(connection, limit)
						: Deleted.NONE;
				connection.commit();
				return batch;
			}
			catch (SQLException | RuntimeException | Error ex) {
				Connections.rollback(connection, ex);
				throw ex;
			}
			finally {
				if (!connection.isClosed()) {
					connection.setAutoCommit(autoCommit);
				}
			}
		});
		// From the start again next time: what was in use may be free by then.
		this.reached = (deleted.count() == limit) ? deleted.last() : null;
		return deleted.count();
	}

	private boolean isOurTurn(Connection connection, Duration pause) throws SQLException {
		String silence = Long.toString(pause.plus(TIMEOUT).toMillis());
		try (PreparedStatement statement = Connections.prepare(connection, this.turn, silence);
				ResultSet row = statement.executeQuery()) {
			return row.next() && row.getBoolean(1);
		}
	}

	private static boolean paused(Duration pause) {
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
		try (PreparedStatement statement = Connections.prepare(connection, this.delete, this.patience.toMillis(),
				this.reached, limit); ResultSet row = statement.executeQuery()) {
			row.next();
			return new Deleted(row.getInt(1), row.getObject(2, OffsetDateTime.class));
		}
	}

	Duration backlogAge() {
		return this.connections.autonomous(TIMEOUT, (connection) -> {
			try (PreparedStatement statement = connection.prepareStatement(this.backlog);
					ResultSet row = statement.executeQuery()) {
				return row.next() ? late(Duration.ofMillis(row.getLong(1))) : Duration.ZERO;
			}
		});
	}

	private Duration late(Duration age) {
		return (age.compareTo(this.patience) > 0) ? age.minus(this.patience) : Duration.ZERO;
	}

	/**
	 * A batch.
	 *
	 * @param count the number of its rows
	 * @param last when the last of them had expired, {@code null} if there is none
	 */
	private record Deleted(int count, @Nullable OffsetDateTime last) {

		static final Deleted NONE = new Deleted(0, null);

	}

}
