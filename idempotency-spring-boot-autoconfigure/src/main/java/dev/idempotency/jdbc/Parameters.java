package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.store.ClaimRequest;

/**
 * The values of the named parameters of an {@link SqlStatement}. The statements for one
 * record and those for several records use the same names; the latter bind arrays.
 */
final class Parameters {

	private final Map<String, @Nullable Object> values = new HashMap<>();

	private @Nullable UUID mark;

	static Parameters none() {
		return new Parameters();
	}

	static Parameters of(String name, @Nullable Object value) {
		return none().with(name, value);
	}

	static Parameters of(ClaimRequest claim) {
		return none().with("id", claim.key().id())
			.with("scope", claim.key().scope())
			.with("key", claim.key().value())
			.with("token", claim.token())
			.with("fingerprint", claim.fingerprint())
			.with("lease", claim.lease().toMillis())
			.with("retention", claim.retention().toMillis())
			.with("version", claim.version());
	}

	static Parameters of(List<ClaimRequest> claims) {
		return none().with("id", "uuid", claims, (claim) -> claim.key().id())
			.with("scope", "text", claims, (claim) -> claim.key().scope())
			.with("key", "text", claims, (claim) -> claim.key().value())
			.with("token", "uuid", claims, ClaimRequest::token)
			.withBytes("fingerprint", claims, ClaimRequest::fingerprint)
			.with("lease", "bigint", claims, (claim) -> claim.lease().toMillis())
			.with("retention", "bigint", claims, (claim) -> claim.retention().toMillis())
			.with("version", "bigint", claims, ClaimRequest::version);
	}

	Parameters with(String name, @Nullable Object value) {
		this.values.put(name, value);
		return this;
	}

	Parameters with(String name, String type, @Nullable Object[] elements) {
		return with(name, new ArrayValue(type, elements));
	}

	private <T> Parameters with(String name, String type, List<T> rows, Function<T, @Nullable Object> element) {
		return with(name, type, rows.stream().map(element).toArray());
	}

	// The driver of PostgreSQL accepts byte arrays only in an array of their type.
	<T> Parameters withBytes(String name, List<T> rows, Function<T, byte @Nullable []> element) {
		return with(name, "bytea", rows.stream().map(element).toArray(byte[][]::new));
	}

	// Remove the token and the lease, which a claim in a transaction does not have.
	Parameters withoutLeases(int claims) {
		return with("token", "uuid", new UUID[claims]).with("lease", "bigint", new Long[claims]);
	}

	@Nullable Object value(String name, Connection connection) throws SQLException {
		Object value = this.values.get(name);
		Assert.state(value != null || this.values.containsKey(name), () -> "The parameter '" + name + "' is missing");
		return (value instanceof ArrayValue array) ? connection.createArrayOf(array.type(), array.elements()) : value;
	}

	// A value that no other parameters have, by which a call recognizes what it
	// has written.
	UUID mark() {
		UUID unique = this.mark;
		if (unique == null) {
			unique = UUID.randomUUID();
			this.mark = unique;
		}
		return unique;
	}

	Map<String, @Nullable Object[]> arrays() {
		Map<String, @Nullable Object[]> arrays = new TreeMap<>();
		this.values.forEach((name, value) -> {
			if (value instanceof ArrayValue array) {
				arrays.put(name, array.elements());
			}
		});
		return arrays;
	}

	boolean isArray(String name) {
		return this.values.get(name) instanceof ArrayValue;
	}

	@Nullable Object[] elements(String name) {
		return ((ArrayValue) Objects.requireNonNull(this.values.get(name))).elements();
	}

	private record ArrayValue(String type, @Nullable Object[] elements) {
	}

}
