/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.jdbc.RecordSql.Name;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Changes claims of the caller: one claim or several claims with one statement. An empty
 * batch costs no statement.
 *
 * @param executor runs the statements
 * @param sql the statements
 */
record JdbcSettlements(JdbcExecutor executor, RecordSql sql) {

	List<Settlement> settleAll(Name name, List<ClaimRequest> claims, Parameters parameters) {
		if (claims.isEmpty()) {
			return List.of();
		}
		List<SqlStatement> statements = this.sql.all(name);
		boolean one = name == Name.COMPLETE;
		try {
			return settleAll(statements.get(0), one, claims, parameters);
		}
		catch (OperationInProgressException ex) {
			for (SqlStatement withoutWaiting : statements.subList(1, statements.size())) {
				settleAll(withoutWaiting, one, claims, parameters);
			}
			throw ex;
		}
	}

	// The statement for one claim only counts it.
	private List<Settlement> settleAll(SqlStatement statement, boolean one, List<ClaimRequest> claims,
			Parameters parameters) {
		return this.executor.autonomous((connection) -> {
			Set<UUID> settled = !one ? settled(connection, statement, claims, parameters)
					: (statement.update(connection, parameters) > 0) ? Set.of(claims.get(0).token()) : Set.of();
			List<ClaimRequest> others = claims.stream().filter((claim) -> !settled.contains(claim.token())).toList();
			Set<UUID> known = others.isEmpty() ? Set.of()
					: ids(connection, this.sql.get(Name.KNOWN), "id", Parameters.owned(others));
			return claims.stream()
				.map((claim) -> settled.contains(claim.token()) ? Settlement.SETTLED
						: known.contains(claim.key().id()) ? Settlement.LOST : Settlement.FORGOTTEN)
				.toList();
		});
	}

	Settlement restore(ClaimRequest claim, Claim.Acquired acquired) {
		Parameters parameters = Parameters.of(claim)
			.with("fence", acquired.fence())
			.with("attempt", acquired.attempt());
		return (this.executor.update(this.sql.get(Name.RESTORE), parameters) > 0) ? Settlement.SETTLED
				: Settlement.LOST;
	}

	List<Settlement> noteFailures(List<ClaimRequest> claims, Failure failure) {
		List<SqlStatement> statements = this.sql.all(Name.NOTE_FAILURES);
		return noteFailures(statements.get(0), statements.get(statements.size() - 1), claims, failure);
	}

	private List<Settlement> noteFailures(SqlStatement statement, SqlStatement single, List<ClaimRequest> claims,
			Failure failure) {
		Parameters parameters = Parameters.of(claims).failed(failure).ended("F");
		try {
			Set<UUID> noted = new HashSet<>();
			this.executor.query(statement, parameters, (row) -> "A".equals(row.getString("outcome"))
					&& noted.add(Objects.requireNonNull(this.sql.types().uuid(row, "id"))));
			return claims.stream()
				.map((claim) -> noted.contains(claim.key().id()) ? Settlement.SETTLED : Settlement.LOST)
				.toList();
		}
		catch (OperationInProgressException ex) {
			return (claims.size() == 1) ? List.of(Settlement.LOST)
					: claims.stream()
						.flatMap((claim) -> noteFailures(single, single, List.of(claim), failure).stream())
						.toList();
		}
	}

	// If all rows are changed, no second statement has to find out which ones.
	private Set<UUID> settled(Connection connection, SqlStatement statement, List<ClaimRequest> claims,
			Parameters parameters) throws SQLException {
		SqlStatement.Answer answer = statement.answer();
		if (answer == null) {
			return ids(connection, statement, "token", parameters);
		}
		if (statement.execute(connection, parameters) == claims.size()) {
			return claims.stream().map(ClaimRequest::token).collect(Collectors.toUnmodifiableSet());
		}
		return ids(connection, answer.read(), "token", parameters);
	}

	private Set<UUID> ids(Connection connection, SqlStatement statement, String column, Parameters parameters)
			throws SQLException {
		Set<UUID> ids = new HashSet<>();
		statement.query(connection, parameters, (row) -> {
			UUID id = this.sql.types().uuid(row, column);
			return id != null && ids.add(id);
		});
		return ids;
	}

}
