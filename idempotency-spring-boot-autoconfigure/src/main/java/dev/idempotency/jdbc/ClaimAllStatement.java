package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;

/**
 * The statements that insert, take over or answer, for several keys at once.
 */
final class ClaimAllStatement {

	private final List<String> sql;

	private final Dialect dialect;

	ClaimAllStatement(List<String> sql, Dialect dialect) {
		this.sql = sql;
		this.dialect = dialect;
	}

	List<Claim> leased(Connection connection, List<ClaimRequest> requests) throws SQLException {
		return claim(connection, requests, true);
	}

	List<Claim> completed(Connection connection, List<ClaimRequest> requests) throws SQLException {
		return claim(connection, requests, false);
	}

	// A failed statement must not reach the caller's transaction.
	List<Claim> joined(Connection connection, List<ClaimRequest> requests) throws SQLException {
		Savepoint savepoint = connection.setSavepoint();
		List<Claim> claims;
		try {
			claims = completed(connection, requests);
		}
		catch (SQLException | RuntimeException ex) {
			ClaimStatement.undo(connection, savepoint, ex);
			throw ex;
		}
		connection.releaseSavepoint(savepoint);
		return claims;
	}

	private List<Claim> claim(Connection connection, List<ClaimRequest> requests, boolean leased) throws SQLException {
		Map<UUID, Claim> answers = new HashMap<>();
		for (int race = 0; race < ClaimStatement.MAX_RACES; race++) {
			for (String statement : this.sql) {
				List<ClaimRequest> open = requests.stream()
					.filter((request) -> !answers.containsKey(request.key().id()))
					.toList();
				if (!open.isEmpty()) {
					answers.putAll(ask(connection, statement, open, leased));
				}
			}
		}
		return requests.stream()
			.map((request) -> answers.getOrDefault(request.key().id(), ClaimStatement.RACED))
			.toList();
	}

	private Map<UUID, Claim> ask(Connection connection, String sql, List<ClaimRequest> requests, boolean leased)
			throws SQLException {
		Map<UUID, ClaimRequest> asked = requests.stream()
			.collect(Collectors.toMap((request) -> request.key().id(), Function.identity()));
		Map<UUID, Claim> answers = new HashMap<>();
		try (PreparedStatement statement = Connections.prepare(connection, sql, leased ? "P" : "C",
				ArrayParameter.ids(requests), ArrayParameter.scopes(requests), ArrayParameter.keys(requests),
				leased ? ArrayParameter.tokens(requests) : ArrayParameter.nulls("uuid", requests),
				ArrayParameter.fingerprints(requests),
				leased ? ArrayParameter.leases(requests) : ArrayParameter.nulls("bigint", requests),
				ArrayParameter.retentions(requests)); ResultSet rows = statement.executeQuery()) {
			while (rows.next()) {
				UUID id = rows.getObject("id", UUID.class);
				answers.put(id, ClaimStatement.answer(rows, Objects.requireNonNull(asked.get(id))));
			}
			return answers;
		}
		catch (SQLException ex) {
			if (this.dialect.isDuplicate(ex)) {
				return Map.of();
			}
			throw ex;
		}
	}

}
