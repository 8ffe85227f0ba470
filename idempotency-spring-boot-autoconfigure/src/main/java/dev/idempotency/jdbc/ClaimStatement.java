package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.Arrays;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.IdempotencyKey;

/**
 * The statement that inserts, takes over or answers.
 */
final class ClaimStatement {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

	private static final String RACE = "R";

	// More than two in a row were not seen.
	private static final int MAX_RACES = 5;

	private final String sql;

	private final String lockWait;

	ClaimStatement(String sql, String lockWait) {
		this.sql = sql;
		this.lockWait = lockWait;
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
			connection.rollback(savepoint);
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

	private Claim claim(Connection connection, ClaimRequest request, boolean leased) throws SQLException {
		IdempotencyKey key = request.key();
		try (PreparedStatement statement = Connections.prepare(connection, this.sql, this.lockWait, key.id(),
				key.scope(), key.value(), leased ? "P" : "C", leased ? request.token() : null, request.fingerprint(),
				leased ? request.lease().toMillis() : null, request.retention().toMillis())) {
			for (int race = 0; race < MAX_RACES; race++) {
				try (ResultSet row = statement.executeQuery()) {
					row.next();
					if (!RACE.equals(row.getString("outcome"))) {
						return answer(row, request);
					}
				}
			}
		}
		return new Claim.InProgress(RETRY_AFTER);
	}

	private static Claim answer(ResultSet row, ClaimRequest request) throws SQLException {
		String outcome = row.getString("outcome");
		if ("A".equals(outcome)) {
			return new Claim.Acquired(row.getInt("fence"), row.getInt("attempt"));
		}
		byte[] fingerprint = row.getBytes("fingerprint");
		byte[] asked = request.fingerprint();
		if (fingerprint != null && asked != null && !Arrays.equals(fingerprint, asked)) {
			return new Claim.Mismatch();
		}
		if ("C".equals(outcome)) {
			return new Claim.Completed(row.getBytes("result"));
		}
		return new Claim.InProgress(Duration.ofMillis(Math.max(0, row.getLong("left_ms"))));
	}

}
