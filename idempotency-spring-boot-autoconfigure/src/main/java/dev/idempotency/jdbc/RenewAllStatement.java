package dev.idempotency.jdbc;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;

import dev.idempotency.ClaimRequest;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.Settlement;

/**
 * The statement that starts several leases anew.
 */
final class RenewAllStatement {

	private final Connections connections;

	private final List<String> sql;

	RenewAllStatement(Connections connections, List<String> sql) {
		this.connections = connections;
		this.sql = sql;
	}

	/**
	 * Renew what can be renewed. Of a key that a concurrent transaction holds nobody can
	 * say whose it is: that is no loss.
	 * @param claims the claims
	 * @param timeout how long that may take
	 * @return for each whether it is still the caller's
	 * @throws OperationInProgressException if a key is held; the others have been renewed
	 */
	List<Settlement> renew(List<ClaimRequest> claims, Duration timeout) {
		if (claims.isEmpty()) {
			return List.of();
		}
		Set<UUID> renewed = renewOrSkip(claims, timeout);
		return claims.stream()
			.map((claim) -> renewed.contains(claim.key().id()) ? Settlement.SETTLED : Settlement.LOST)
			.toList();
	}

	private Set<UUID> renewOrSkip(List<ClaimRequest> claims, Duration timeout) {
		try {
			return this.connections.autonomous(timeout, (connection) -> renew(connection, this.sql.get(0), claims));
		}
		catch (OperationInProgressException ex) {
			for (String withoutWaiting : this.sql.subList(1, this.sql.size())) {
				this.connections.autonomous(timeout, (connection) -> renew(connection, withoutWaiting, claims));
			}
			throw ex;
		}
	}

	private static Set<UUID> renew(Connection connection, String sql, List<ClaimRequest> claims) throws SQLException {
		Set<UUID> renewed = new HashSet<>();
		try (PreparedStatement statement = Connections.prepare(connection, sql,
				array(connection, "uuid", claims, (claim) -> claim.key().id()),
				array(connection, "uuid", claims, ClaimRequest::token),
				array(connection, "bigint", claims, (claim) -> claim.lease().toMillis()));
				ResultSet rows = statement.executeQuery()) {
			while (rows.next()) {
				renewed.add(rows.getObject("id", UUID.class));
			}
		}
		return renewed;
	}

	private static Array array(Connection connection, String type, List<ClaimRequest> claims,
			Function<ClaimRequest, Object> element) throws SQLException {
		return connection.createArrayOf(type, claims.stream().map(element).toArray());
	}

}
