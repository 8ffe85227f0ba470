package dev.idempotency.jdbc;

import java.sql.Array;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.ClaimRequest;

/**
 * An array to be bound.
 *
 * @param type the type of the elements, as PostgreSQL calls it; H2 does not ask
 * @param elements the elements
 */
record ArrayParameter(String type, @Nullable Object[] elements) {

	static ArrayParameter ids(List<ClaimRequest> claims) {
		return new ArrayParameter("uuid", claims.stream().map((claim) -> claim.key().id()).toArray());
	}

	static ArrayParameter tokens(List<ClaimRequest> claims) {
		return new ArrayParameter("uuid", claims.stream().map(ClaimRequest::token).toArray());
	}

	// Of a claim in a transaction, which has neither token nor lease.
	static ArrayParameter nulls(String type, List<ClaimRequest> claims) {
		return new ArrayParameter(type, new UUID[claims.size()]);
	}

	static ArrayParameter scopes(List<ClaimRequest> claims) {
		return new ArrayParameter("text", claims.stream().map((claim) -> claim.key().scope()).toArray());
	}

	static ArrayParameter keys(List<ClaimRequest> claims) {
		return new ArrayParameter("text", claims.stream().map((claim) -> claim.key().value()).toArray());
	}

	static ArrayParameter fingerprints(List<ClaimRequest> claims) {
		return bytes(claims, ClaimRequest::fingerprint);
	}

	static ArrayParameter leases(List<ClaimRequest> claims) {
		return new ArrayParameter("bigint", claims.stream().map((claim) -> claim.lease().toMillis()).toArray());
	}

	static ArrayParameter retentions(List<ClaimRequest> claims) {
		return new ArrayParameter("bigint", claims.stream().map((claim) -> claim.retention().toMillis()).toArray());
	}

	// The driver of PostgreSQL takes them in an array of their own type only.
	static <T> ArrayParameter bytes(List<T> rows, Function<T, byte @Nullable []> element) {
		return new ArrayParameter("bytea", rows.stream().map(element).toArray(byte[][]::new));
	}

	Array on(Connection connection) throws SQLException {
		return connection.createArrayOf(this.type, this.elements);
	}

}
