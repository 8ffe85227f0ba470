/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;

/**
 * The values of the named parameters of an {@link SqlStatement}. The statements for one
 * record and those for several records use the same names; the latter bind arrays.
 */
final class Parameters {

	private final Map<String, @Nullable Object> values = new HashMap<>();

	static Parameters none() {
		return new Parameters();
	}

	static Parameters of(String name, @Nullable Object value) {
		return none().with(name, value);
	}

	static Parameters of(ClaimRequest claim) {
		return ofClaims().with("id", claim.key().id())
			.with("scope", claim.key().scope())
			.with("key", claim.key().value())
			.with("token", claim.token())
			.with("fingerprint", claim.fingerprint())
			.with("lease", claim.lease().toMillis())
			.with("retention", claim.retention().toMillis())
			.with("version", claim.version());
	}

	static Parameters of(List<ClaimRequest> claims) {
		return owned(claims).with("scope", "text", claims, (claim) -> claim.key().scope())
			.with("key", "text", claims, (claim) -> claim.key().value())
			.withBytes("fingerprint", claims, ClaimRequest::fingerprint)
			.with("retention", "bigint", claims, (claim) -> claim.retention().toMillis())
			.with("version", "bigint", claims, ClaimRequest::version);
	}

	// The claims of a caller, without the columns that only an insert needs.
	static Parameters owned(List<ClaimRequest> claims) {
		return ofClaims().with("id", "uuid", claims, (claim) -> claim.key().id())
			.with("token", "uuid", claims, ClaimRequest::token)
			.with("lease", "bigint", claims, (claim) -> claim.lease().toMillis());
	}

	private static Parameters ofClaims() {
		return of("state", "P").with("fence", 1)
			.with("attempt", 1)
			.with("error_type", null)
			.with("error_message", null);
	}

	Parameters with(String name, @Nullable Object value) {
		this.values.put(name, value);
		return this;
	}

	Parameters with(String name, String type, @Nullable Object[] elements) {
		return with(name, new ArrayValue(type, elements));
	}

	<T> Parameters with(String name, String type, List<T> rows, Function<T, @Nullable Object> element) {
		return with(name, type, rows.stream().map(element).toArray());
	}

	// The driver of PostgreSQL accepts byte arrays only in an array of their type.
	<T> Parameters withBytes(String name, List<? extends T> rows, Function<T, byte @Nullable []> element) {
		return with(name, "bytea", rows.stream().map(element).toArray(byte[][]::new));
	}

	// Write records that have ended: they have no lease.
	Parameters ended(String state) {
		Object lease = this.values.get("lease");
		return with("state", state).with("lease", (lease instanceof ArrayValue leases)
				? new ArrayValue(leases.type(), new Object[leases.elements().length]) : null);
	}

	Parameters failed(Failure failure) {
		return with("error_type", failure.type()).with("error_message", failure.message());
	}

	@Nullable Object value(String name, Connection connection) throws SQLException {
		Object value = this.values.get(name);
		Assert.state(value != null || this.values.containsKey(name), () -> "The parameter '" + name + "' is missing");
		return (value instanceof ArrayValue array) ? connection.createArrayOf(array.type(), array.elements()) : value;
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
