package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Fingerprint;

/**
 * The statements that insert, take over or answer.
 */
final class ClaimStatement {

	// More than two in a row were not seen.
	static final int MAX_RACES = 5;

	// The answer after all of them were lost.
	static final Claim RACED = new Claim.InProgress(Duration.ofSeconds(1));

	private static final String RACE = "R";

	private final String insert;

	private final List<String> sql;

	private final Dialect dialect;

	ClaimStatement(String insert, List<String> sql, Dialect dialect) {
		this.insert = insert;
		this.sql = sql;
		this.dialect = dialect;
	}

	// Nothing if there is a record.
	Optional<Claim.Acquired> inserted(Connection connection, ClaimRequest request) throws SQLException {
		IdempotencyKey key = request.key();
		try (PreparedStatement statement = Connections.prepare(connection, this.insert, key.id(), key.scope(),
				key.value(), request.fingerprint(), request.retention().toMillis());
				ResultSet rows = statement.executeQuery()) {
			return rows.next() ? Optional.of(new Claim.Acquired(1, 1)) : Optional.empty();
		}
		catch (SQLException ex) {
			if (this.dialect.isDuplicate(ex)) {
				return Optional.empty();
			}
			throw ex;
		}
	}

	Claim leased(Connection connection, ClaimRequest request) throws SQLException {
		return claim(connection, request, true);
	}

	Claim completed(Connection connection, ClaimRequest request) throws SQLException {
		return claim(connection, request, false);
	}

	// A failed statement, or the lock wait that an answer leaves behind, must not reach
	// the
	// caller's transaction.
	Claim joined(Connection connection, ClaimRequest request) throws SQLException {
		Savepoint savepoint = connection.setSavepoint();
		Claim claim;
		try {
			claim = completed(connection, request);
		}
		catch (SQLException | RuntimeException ex) {
			undo(connection, savepoint, ex);
			throw ex;
		}
		if (claim instanceof Claim.Acquired) {
			connection.releaseSavepoint(savepoint);
		}
		else {
			connection.rollback(savepoint);
		}
		return claim;
	}

	// A deadlock may have ended the transaction, and the savepoint with it.
	static void undo(Connection connection, Savepoint savepoint, Exception reason) {
		try {
			connection.rollback(savepoint);
		}
		catch (SQLException ex) {
			reason.addSuppressed(ex);
		}
	}

	private Claim claim(Connection connection, ClaimRequest request, boolean leased) throws SQLException {
		for (int race = 0; race < MAX_RACES; race++) {
			for (String statement : this.sql) {
				Claim claim = ask(connection, statement, request, leased);
				if (claim != null) {
					return claim;
				}
			}
		}
		return RACED;
	}

	private @Nullable Claim ask(Connection connection, String sql, ClaimRequest request, boolean leased)
			throws SQLException {
		IdempotencyKey key = request.key();
		try (PreparedStatement statement = Connections.prepare(connection, sql, key.id(), key.scope(), key.value(),
				leased ? "P" : "C", leased ? request.token() : null, request.fingerprint(),
				leased ? request.lease().toMillis() : null, request.retention().toMillis());
				ResultSet row = statement.executeQuery()) {
			return (row.next() && !RACE.equals(row.getString("outcome"))) ? answer(row, request) : null;
		}
		catch (SQLException ex) {
			if (this.dialect.isDuplicate(ex)) {
				return null;
			}
			throw ex;
		}
	}

	static Claim answer(ResultSet row, ClaimRequest request) throws SQLException {
		String outcome = row.getString("outcome");
		if ("A".equals(outcome)) {
			return new Claim.Acquired(row.getInt("fence"), row.getInt("attempt"));
		}
		if (Fingerprint.differs(request.key(), row.getBytes("fingerprint"), request.fingerprint())) {
			return new Claim.Mismatch();
		}
		if ("C".equals(outcome)) {
			return new Claim.Completed(row.getBytes("result"));
		}
		return new Claim.InProgress(Duration.ofMillis(Math.max(0, row.getLong("left_ms"))));
	}

}
