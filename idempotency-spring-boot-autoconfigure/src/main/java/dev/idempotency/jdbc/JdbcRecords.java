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
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.jdbc.RecordSql.Name;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Change;
import dev.idempotency.store.IdempotencyRecords.Overview;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.store.IdempotencyRecords.ScopeCount;
import dev.idempotency.store.IdempotencyRecords.Selection;
import dev.idempotency.store.PagePosition;

/**
 * The operator's view of the records of a table. A list begins with the records that
 * expire last; the position at its end leads to the records before.
 *
 * @param executor runs the statements
 * @param sql the statements
 */
record JdbcRecords(JdbcExecutor executor, RecordSql sql) implements IdempotencyRecords {

	Map<IdempotencyKey, IdempotencyRecord> find(Collection<IdempotencyKey> keys) {
		Map<UUID, IdempotencyKey> ids = keys.stream()
			.collect(Collectors.toMap(IdempotencyKey::id, (key) -> key, (one, same) -> one));
		if (ids.isEmpty()) {
			return Map.of();
		}
		Parameters parameters = Parameters.none().with("id", "uuid", ids.keySet().toArray());
		List<IdempotencyRecord> found = this.executor.query(this.sql.get(Name.FIND_ALL), parameters,
				(row) -> read(Objects.requireNonNull(ids.get(this.sql.types().uuid(row, "id"))), row));
		return found.stream().collect(Collectors.toMap(IdempotencyRecord::key, (record) -> record));
	}

	@Override
	public Overview overview() {
		return this.executor.autonomous((connection) -> {
			PagePosition bound = bound(connection, PagePosition.LAST);
			List<ScopeCount> scopes = this.sql.get(Name.OVERVIEW)
				.query(connection, to(bound, Parameters.none()), this::scope);
			return new Overview(scopes, bound == null, (bound != null) ? estimate(connection) : null);
		});
	}

	private ScopeCount scope(ResultSet row) throws SQLException {
		OffsetDateTime oldest = this.sql.types().time(row, row.findColumn("oldest"));
		OffsetDateTime now = Objects.requireNonNull(this.sql.types().time(row, row.findColumn("now")));
		return new ScopeCount(row.getString("scope"), row.getLong("in_progress"), row.getLong("stuck"),
				row.getLong("failed"), row.getLong("completed"),
				(oldest != null) ? Duration.between(oldest, now) : null);
	}

	private @Nullable Long estimate(Connection connection) throws SQLException {
		return !this.sql.has(Name.ESTIMATE) ? null
				: this.sql.get(Name.ESTIMATE)
					.first(connection, Parameters.none(), (row) -> row.getObject(1, Long.class))
					.orElse(null);
	}

	@Override
	public Page stuck(int limit, @Nullable String after) {
		return list(Name.STUCK, limit, after, Parameters.none());
	}

	@Override
	public Page failed(int limit, @Nullable String after) {
		return list(Name.FAILED, limit, after, Parameters.none());
	}

	@Override
	public Page evictable(Selection selection, boolean force, int limit, @Nullable String after) {
		return list(Name.EVICTABLE, limit, after,
				Parameters.of("scope", selection.scope())
					.with("prefix", selection.keyPrefix())
					.with("createdfrom", time(selection.createdFrom(), PagePosition.FIRST))
					.with("createdbefore", time(selection.createdBefore(), PagePosition.LAST))
					.with("force", force));
	}

	// A column cannot hold every time that an Instant can.
	private static OffsetDateTime time(@Nullable Instant time, PagePosition open) {
		Instant bound = (time != null) ? time : open.expiresAt();
		Instant first = PagePosition.FIRST.expiresAt();
		Instant last = PagePosition.LAST.expiresAt();
		return (bound.isBefore(first) ? first : bound.isAfter(last) ? last : bound).atOffset(ZoneOffset.UTC);
	}

	private Page list(Name name, int limit, @Nullable String after, Parameters conditions) {
		PagePosition start = (after != null) ? PagePosition.parse(after) : PagePosition.LAST;
		return this.executor.autonomous((connection) -> {
			PagePosition bound = bound(connection, start);
			Parameters parameters = to(bound, from(start, conditions)).with("limit", limit + 1);
			List<IdempotencyRecord> found = this.sql.get(name)
				.query(connection, parameters,
						(row) -> read(IdempotencyKey.of(row.getString("scope"), row.getString("key")), row));
			PagePosition next = (found.size() > limit) ? PagePosition.of(found.get(limit - 1)) : bound;
			return new Page(found.stream().limit(limit).toList(), next == null,
					(next != null) ? next.toString() : null);
		});
	}

	private @Nullable PagePosition bound(Connection connection, PagePosition after) throws SQLException {
		return this.sql.get(Name.BOUND)
			.first(connection, from(after, Parameters.none()).with("others", WINDOW - 1),
					(row) -> new PagePosition(Objects.requireNonNull(time(row, "expires_at")),
							Objects.requireNonNull(this.sql.types().uuid(row, "id"))))
			.orElse(null);
	}

	private static Parameters from(PagePosition before, Parameters parameters) {
		return parameters.with("before", before.expiresAt().atOffset(ZoneOffset.UTC)).with("beforeid", before.id());
	}

	private static Parameters to(@Nullable PagePosition bound, Parameters parameters) {
		PagePosition last = (bound != null) ? bound : PagePosition.FIRST;
		return parameters.with("bound", last.expiresAt().atOffset(ZoneOffset.UTC)).with("boundid", last.id());
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		return this.executor.first(this.sql.get(Name.RESULT), Parameters.of("id", key.id()), (row) -> row.getBytes(1));
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return change(Name.RELEASE_BY_OPERATOR, key, force);
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return change(Name.EVICT, key, force);
	}

	@Override
	public int evictAll(Collection<IdempotencyKey> keys, boolean force) {
		Parameters parameters = Parameters.of("force", force)
			.with("id", "uuid", keys.stream().map(IdempotencyKey::id).toArray());
		return this.executor.update(this.sql.get(Name.EVICT_ALL), parameters);
	}

	// The number of rows decides. The state that is read afterwards only explains why
	// no row was changed.
	private Change change(Name name, IdempotencyKey key, boolean force) {
		Parameters parameters = Parameters.of("id", key.id()).with("force", force);
		return this.executor.autonomous((connection) -> {
			if (this.sql.get(name).update(connection, parameters) > 0) {
				return Change.DONE;
			}
			return this.sql.get(Name.STATE)
				.first(connection, parameters, (row) -> row.getString(1))
				.map((state) -> "C".equals(state) ? Change.COMPLETED : Change.ALIVE)
				.orElse(Change.ABSENT);
		});
	}

	private IdempotencyRecord read(IdempotencyKey key, ResultSet row) throws SQLException {
		String errorType = row.getString("error_type");
		Failure failure = (errorType != null) ? new Failure(errorType, row.getString("error_message")) : null;
		State state = switch (row.getString("state")) {
			case "P" -> State.IN_PROGRESS;
			case "C" -> State.COMPLETED;
			default -> State.FAILED;
		};
		return new IdempotencyRecord(key, state, row.getInt("fence"), row.getInt("attempt"), time(row, "lease_until"),
				Objects.requireNonNull(time(row, "created_at")), time(row, "completed_at"),
				Objects.requireNonNull(time(row, "expires_at")), failure, row.getObject("decided_version", Long.class));
	}

	private @Nullable Instant time(ResultSet row, String column) throws SQLException {
		OffsetDateTime time = this.sql.types().time(row, row.findColumn(column));
		return (time != null) ? time.toInstant() : null;
	}

}
