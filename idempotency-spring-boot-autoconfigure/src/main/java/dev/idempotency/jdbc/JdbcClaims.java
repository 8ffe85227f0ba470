/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Predicate;

import org.springframework.util.Assert;

import dev.idempotency.jdbc.Dialect.Problem;
import dev.idempotency.jdbc.JdbcExecutor.Work;
import dev.idempotency.jdbc.RecordSql.Name;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Claims keys: one key or several keys with one statement. A statement inserts a record,
 * takes over a free one, or reads the state of one that is not free. If another
 * transaction interferes the statement is repeated.
 */
final class JdbcClaims {

	// Two races in a row are the most that were observed.
	private static final int MAX_RACES = 5;

	private static final Claim RACES_LOST = new Claim.InProgress(Duration.ofSeconds(1));

	private static final String RACE = "R";

	private static final String NEW = "N";

	// A wrong guess costs a round trip and a right one saves a third of one. With records
	// of which half are duplicates, 1 in 256 guesses after so many.
	private static final int REPLAYED = 8;

	private final RecordSql sql;

	private final Dialect dialect;

	// The number of keys in a row that could not be claimed. A lost update makes
	// a guess worse, not an answer.
	private volatile int refused;

	JdbcClaims(RecordSql sql, Dialect dialect) {
		this.sql = sql;
		this.dialect = dialect;
	}

	private Optional<Claim> insert(Connection connection, ClaimRequest request) throws SQLException {
		Parameters parameters = Parameters.of(request).ended("C");
		if (!unless(Problem.DUPLICATE, connection, false,
				(same) -> this.sql.get(Name.INSERT).update(same, parameters) > 0)) {
			return Optional.empty();
		}
		written(request);
		return Optional.of(new Claim.Acquired(1, 1));
	}

	Claim lookUp(Connection connection, ClaimRequest request) throws SQLException {
		return this.sql.get(Name.LOOK_UP)
			.first(connection, Parameters.of(request), (row) -> claim(row, request))
			.orElse(new Claim.Acquired(1, 1));
	}

	List<Optional<Claim>> insertAll(Connection connection, List<ClaimRequest> requests) throws SQLException {
		if (requests.size() == 1) {
			return List.of(insert(connection, requests.get(0)));
		}
		if (!this.sql.has(Name.INSERT_ALL)) {
			return claimAll(connection, requests, false).stream().map(Optional::of).toList();
		}
		Map<UUID, ClaimRequest> open = byId(requests);
		Map<UUID, Claim> claims = claim(connection, this.sql.get(Name.INSERT_ALL), parameters(requests, open, false),
				open);
		return requests.stream().map((request) -> Optional.ofNullable(claims.get(request.key().id()))).toList();
	}

	boolean canClaimAhead(ClaimRequest done, ClaimRequest next) {
		return this.sql.has(Name.COMPLETE_AND_CLAIM) && (this.sql.all(Name.COMPLETE_AND_CLAIM).size() == 1
				|| (done.version() == null && next.version() == null));
	}

	Optional<CompletionAndClaim> completeAndClaim(Connection connection, Ending.Completed completed, ClaimRequest next)
			throws SQLException {
		List<SqlStatement> statements = this.sql.all(Name.COMPLETE_AND_CLAIM);
		Parameters parameters = Parameters.of(next)
			.with("done", completed.claim().key().id())
			.with("donetoken", completed.claim().token())
			.with("result", completed.result());
		List<Optional<Claim>> rows = unless(Problem.NOT_OWNED, connection, List.of(),
				(same) -> statements.get(0)
					.query(same, parameters,
							(row) -> row.getBoolean("settled") ? Optional.of(claim(row, next)) : Optional.empty()));
		Claim claim = rows.stream().flatMap(Optional::stream).findFirst().orElse(null);
		if (claim == RACES_LOST && statements.size() > 1) {
			claim = claim(connection, statements.get(1), parameters, Map.of(next.key().id(), next))
				.getOrDefault(next.key().id(), RACES_LOST);
		}
		return Optional.ofNullable(claim).map((answer) -> new CompletionAndClaim(Settlement.SETTLED, answer));
	}

	// Claim keys, a single one with a faster statement. When records are replayed, most
	// keys cannot be claimed. After several such keys in a row, a record is read before
	// its key is claimed.
	List<Claim> claimAll(Connection connection, List<ClaimRequest> requests, boolean leased) throws SQLException {
		Map<UUID, ClaimRequest> open = byId(requests);
		Map<UUID, Claim> claims = new HashMap<>();
		boolean guessed = leased && requests.size() == 1 && requests.get(0).version() == null;
		if (guessed && this.refused >= REPLAYED && this.sql.has(Name.READ)) {
			claims.putAll(claim(connection, this.sql.get(Name.READ), parameters(requests, open, true), open));
		}
		List<SqlStatement> statements = this.sql.all(claimOf(requests, leased));
		for (int race = 0; race < MAX_RACES; race++) {
			for (SqlStatement statement : statements) {
				open.keySet().removeAll(claims.keySet());
				if (!open.isEmpty()) {
					Parameters parameters = parameters(requests, open, leased);
					claims.putAll(unless(Problem.DUPLICATE, connection, Map.of(),
							(same) -> claim(same, statement, parameters, open)));
				}
			}
		}
		List<Claim> answers = new ArrayList<>(requests.size());
		for (ClaimRequest request : requests) {
			Claim claim = claims.getOrDefault(request.key().id(), RACES_LOST);
			if (!leased && claim instanceof Claim.Acquired) {
				written(request);
			}
			answers.add(claim);
		}
		if (guessed) {
			this.refused = (answers.get(0) instanceof Claim.Acquired) ? 0 : this.refused + 1;
		}
		return answers;
	}

	// The key of a versioned operation is that of an entity, which has a record as a
	// rule.
	private Name claimOf(List<ClaimRequest> requests, boolean leased) {
		if (requests.size() > 1) {
			return Name.CLAIM_ALL;
		}
		Name faster = (requests.get(0).version() != null) ? Name.CLAIM_KNOWN
				: leased ? Name.CLAIM : Name.CLAIM_IN_TRANSACTION;
		return this.sql.has(faster) ? faster : Name.CLAIM;
	}

	private static Map<UUID, ClaimRequest> byId(List<ClaimRequest> requests) {
		Map<UUID, ClaimRequest> byId = new LinkedHashMap<>();
		for (ClaimRequest request : requests) {
			Assert.state(byId.put(request.key().id(), request) == null,
					"A key occurs twice in a batch of claims. Claim each key once");
		}
		return byId;
	}

	private static Parameters parameters(List<ClaimRequest> requests, Map<UUID, ClaimRequest> open, boolean leased) {
		Parameters parameters = (requests.size() == 1) ? Parameters.of(requests.get(0))
				: Parameters.of(List.copyOf(open.values()));
		return leased ? parameters : parameters.ended("C");
	}

	// A record that another transaction has changed in the meantime has the outcome R.
	private Map<UUID, Claim> claim(Connection connection, SqlStatement statement, Parameters parameters,
			Map<UUID, ClaimRequest> open) throws SQLException {
		Map<UUID, Claim> claims = new HashMap<>();
		statement.query(connection, parameters, (row) -> {
			UUID id = (open.size() == 1) ? open.keySet().iterator().next()
					: Objects.requireNonNull(this.sql.types().uuid(row, "id"));
			return claims.put(id, claim(row, Objects.requireNonNull(open.get(id))));
		});
		claims.values().removeIf((claim) -> claim == RACES_LOST);
		return claims;
	}

	private static Claim claim(ResultSet row, ClaimRequest request) throws SQLException {
		String outcome = row.getString("outcome");
		if (RACE.equals(outcome)) {
			return RACES_LOST;
		}
		if (NEW.equals(outcome)) {
			return new Claim.Acquired(1, 1);
		}
		if ("A".equals(outcome)) {
			return new Claim.Acquired(row.getInt("fence"), row.getInt("attempt"));
		}
		Long version = request.version();
		Long decided = (version != null) ? row.getObject("decided_version", Long.class) : null;
		if (version != null && decided != null && decided > version) {
			return new Claim.Stale(decided);
		}
		boolean completed = "C".equals(outcome);
		boolean repeated = (version != null) ? version.equals(decided) : completed;
		// The fingerprint of a later claim is not that of the version that has completed.
		if ((version == null || (repeated && completed))
				&& Fingerprint.differs(request.key(), row.getBytes("fingerprint"), request.fingerprint())) {
			return new Claim.Mismatch();
		}
		return repeated ? new Claim.Completed(row.getBytes("result"))
				: new Claim.InProgress(Duration.ofMillis(Math.max(0, row.getLong("left_ms"))));
	}

	private void written(ClaimRequest request) {
		if (this.sql.has(Name.WRITTEN)) {
			UUID id = request.key().id();
			Parameters written = Parameters.of("id", id).with("token", request.token());
			FirstWrite.remember(this, id, (connection) -> this.sql.get(Name.WRITTEN).update(connection, written) > 0);
		}
	}

	private <T> T unless(Problem problem, Connection connection, T otherwise, Work<T> statement) throws SQLException {
		try {
			return statement.on(connection);
		}
		catch (SQLException ex) {
			if (this.dialect.is(problem, ex)) {
				return otherwise;
			}
			throw ex;
		}
	}

	// Claim in a savepoint of the caller's transaction, which a failed statement
	// must not affect.
	<T> T inSavepoint(Connection connection, Work<T> claims, Predicate<T> keep) throws SQLException {
		if (!this.dialect.needsSavepoints()) {
			return claims.on(connection);
		}
		Savepoint savepoint = connection.setSavepoint();
		try {
			T claimed = claims.on(connection);
			if (keep.test(claimed)) {
				connection.releaseSavepoint(savepoint);
			}
			else {
				connection.rollback(savepoint);
			}
			return claimed;
		}
		catch (SQLException | RuntimeException ex) {
			try {
				connection.rollback(savepoint);
			}
			catch (SQLException rollback) {
				// A deadlock may have ended the transaction.
				ex.addSuppressed(rollback);
			}
			throw ex;
		}
	}

}
