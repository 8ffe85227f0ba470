package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;

/**
 * Creates partitions ahead, fills the next one when its time has come, and drops those
 * that nothing is alive in. One process at a time does so, the others leave it to that
 * one. Nobody depends on its being on time: records go on into the latest partition.
 */
final class Partitions {

	private static final Log logger = LogFactory.getLog(Partitions.class);

	// Create, close, open, create, close.
	private static final int STEPS = 5;

	private static final Duration MIN_INTERVAL = Duration.ofMillis(10);

	private final Connections connections;

	private final TableName table;

	private final Duration interval;

	private final Duration timeout;

	Partitions(Connections connections, TableName table, Duration interval, Duration timeout) {
		if (interval.compareTo(MIN_INTERVAL) < 0) {
			throw new IdempotencyConfigurationException(
					"A partition of '" + table + "' is to be filled for " + interval + ".",
					"Set 'idempotency.jdbc.partition-interval' to " + MIN_INTERVAL + " or more.");
		}
		this.connections = connections;
		this.table = table;
		this.interval = interval;
		this.timeout = timeout;
	}

	// Until records are deleted one by one: their partition would have been dropped by
	// then, if others did not keep it alive.
	Duration patience() {
		return this.interval.multipliedBy(2);
	}

	// Each step commits: what it says must be known to all before the next.
	void maintain() {
		try {
			int step = 0;
			while (step < STEPS && rotate() != null) {
				step++;
			}
			String dropped = drop();
			while (dropped != null) {
				logger.info("Dropped the partition " + dropped + " of expired idempotency records");
				dropped = drop();
			}
		}
		catch (OperationInProgressException ex) {
			logger.debug("The partitions of " + this.table + " are in use; the next try comes with the next cleanup",
					ex);
		}
		catch (IdempotencyStoreRefusedException | IdempotencyStoreUnavailableException ex) {
			// Rows can be deleted all the same.
			logger.warn("The partitions of " + this.table + " could not be maintained: records stay in the latest one, "
					+ "and expired ones are deleted one by one; the user must own the table and may create tables", ex);
		}
	}

	@Nullable String rotate() {
		return ask("SELECT " + this.table + "_rotate(?)", this.interval.toMillis());
	}

	@Nullable String drop() {
		return ask("SELECT " + this.table + "_drop_dead()");
	}

	private @Nullable String ask(String sql, Object... parameters) {
		return this.connections.autonomous(this.timeout, (connection) -> answer(connection, sql, parameters))
			.orElse(null);
	}

	private static Optional<String> answer(Connection connection, String sql, Object... parameters)
			throws SQLException {
		try (PreparedStatement statement = Connections.prepare(connection, sql, parameters);
				ResultSet row = statement.executeQuery()) {
			row.next();
			return Optional.ofNullable(row.getString(1));
		}
	}

}
