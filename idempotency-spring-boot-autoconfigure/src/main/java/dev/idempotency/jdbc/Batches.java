package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Completion;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Settlement;

/**
 * What is done to several records at once, with one statement. An empty batch costs none.
 */
final class Batches {

	private final Connections connections;

	private final BatchStatements sql;

	private final ClaimAllStatement claim;

	private final Duration timeout;

	Batches(Connections connections, BatchStatements sql, Dialect dialect, Duration timeout) {
		this.connections = connections;
		this.sql = sql;
		this.claim = new ClaimAllStatement(sql.claim(), dialect);
		this.timeout = timeout;
	}

	List<Claim> claim(List<ClaimRequest> requests) {
		return requests.isEmpty() ? List.of()
				: this.connections.autonomous(this.timeout, (connection) -> this.claim.leased(connection, requests));
	}

	List<Claim> claimInTransaction(List<ClaimRequest> requests, boolean joined) {
		return requests.isEmpty() ? List.of() : this.connections.inTransaction(this.timeout, (connection) -> joined
				? this.claim.joined(connection, requests) : this.claim.completed(connection, requests));
	}

	List<Settlement> complete(List<Completion> completions) {
		return settle(this.sql.complete(), completions.stream().map(Completion::claim).toList(), results(completions));
	}

	List<Settlement> fail(List<ClaimRequest> claims, Failure failure) {
		return settle(this.sql.fail(), claims, failure.type(), failure.message());
	}

	List<Settlement> release(List<ClaimRequest> claims) {
		return settle(this.sql.release(), claims);
	}

	List<Settlement> renew(List<ClaimRequest> claims) {
		return settle(this.sql.renew(), claims, ArrayParameter.leases(claims));
	}

	void storeResults(List<Completion> completions) {
		List<Completion> stored = completions.stream().filter((completion) -> completion.result() != null).toList();
		if (!stored.isEmpty()) {
			ArrayParameter ids = ArrayParameter.ids(stored.stream().map(Completion::claim).toList());
			this.connections.inTransaction(this.timeout, (connection) -> {
				try (PreparedStatement statement = Connections.prepare(connection, this.sql.storeResults(), ids,
						results(stored))) {
					return statement.executeUpdate();
				}
			});
		}
	}

	List<Settlement> noteFailures(List<ClaimRequest> claims, Failure failure) {
		try {
			return noteFailures(this.sql.noteFailures().get(0), claims, failure);
		}
		catch (OperationInProgressException ex) {
			return claims.stream().map((claim) -> noteFailure(claim, failure)).toList();
		}
	}

	private Settlement noteFailure(ClaimRequest claim, Failure failure) {
		List<String> statements = this.sql.noteFailures();
		try {
			return noteFailures(statements.get(statements.size() - 1), List.of(claim), failure).get(0);
		}
		catch (OperationInProgressException ex) {
			return Settlement.LOST;
		}
	}

	private List<Settlement> noteFailures(String statement, List<ClaimRequest> claims, Failure failure) {
		if (claims.isEmpty()) {
			return List.of();
		}
		Set<UUID> noted = this.connections.autonomous(this.timeout,
				(connection) -> query(connection, statement, failure.type(), failure.message(),
						ArrayParameter.ids(claims), ArrayParameter.scopes(claims), ArrayParameter.keys(claims),
						ArrayParameter.fingerprints(claims), ArrayParameter.retentions(claims)));
		return claims.stream()
			.map((claim) -> noted.contains(claim.key().id()) ? Settlement.SETTLED : Settlement.LOST)
			.toList();
	}

	/**
	 * Change what is the caller's. Of a key that a concurrent transaction holds nobody
	 * can say whose it is: that is no loss.
	 * @param statements the statements, the second one for after a wait in vain
	 * @param claims the claims
	 * @param more further parameters
	 * @return for each whether it was the caller's
	 * @throws OperationInProgressException if a key is held; the others have been changed
	 */
	private List<Settlement> settle(List<String> statements, List<ClaimRequest> claims, @Nullable Object... more) {
		@Nullable Object[] parameters = new @Nullable Object[more.length + 2];
		parameters[0] = ArrayParameter.ids(claims);
		parameters[1] = ArrayParameter.tokens(claims);
		System.arraycopy(more, 0, parameters, 2, more.length);
		try {
			return change(statements.get(0), claims, parameters);
		}
		catch (OperationInProgressException ex) {
			for (String withoutWaiting : statements.subList(1, statements.size())) {
				change(withoutWaiting, claims, parameters);
			}
			throw ex;
		}
	}

	private List<Settlement> change(String sql, List<ClaimRequest> claims, @Nullable Object... parameters) {
		if (claims.isEmpty()) {
			return List.of();
		}
		return this.connections.autonomous(this.timeout, (connection) -> {
			Set<UUID> changed = query(connection, sql, parameters);
			List<ClaimRequest> others = claims.stream().filter((claim) -> !changed.contains(claim.token())).toList();
			Set<UUID> known = others.isEmpty() ? Set.of()
					: query(connection, this.sql.known(), ArrayParameter.ids(others));
			return claims.stream()
				.map((claim) -> changed.contains(claim.token()) ? Settlement.SETTLED
						: known.contains(claim.key().id()) ? Settlement.LOST : Settlement.FORGOTTEN)
				.toList();
		});
	}

	// Reads the first column.
	private static Set<UUID> query(Connection connection, String sql, @Nullable Object... parameters)
			throws SQLException {
		Set<UUID> found = new HashSet<>();
		try (PreparedStatement statement = Connections.prepare(connection, sql, parameters);
				ResultSet rows = statement.executeQuery()) {
			while (rows.next()) {
				found.add(rows.getObject(1, UUID.class));
			}
		}
		return found;
	}

	private static ArrayParameter results(List<Completion> completions) {
		return ArrayParameter.bytes(completions, Completion::result);
	}

}
