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
import java.util.OptionalLong;
import java.util.UUID;
import java.util.function.Predicate;
import java.util.stream.IntStream;

import org.springframework.util.Assert;

import dev.idempotency.jdbc.JdbcExecutor.Work;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.store.OffsetMarks.StoredMark;

/**
 * The marks of processed offsets, in a table beside that of the records.
 */
record JdbcOffsetMarks(JdbcExecutor executor, JdbcClaims claims, OffsetSql sql) implements OffsetMarks {

	@Override
	public List<Long> raise(List<OffsetMark> marks, boolean joined) {
		Work<List<Long>> raise = (connection) -> raise(connection, marks);
		Predicate<List<Long>> raised = (previous) -> IntStream.range(0, marks.size())
			.anyMatch((i) -> previous.get(i) < marks.get(i).offset());
		return marks.isEmpty() ? List.of() : this.executor
			.inTransaction(joined ? (connection) -> this.claims.inSavepoint(connection, raise, raised) : raise);
	}

	private List<Long> raise(Connection connection, List<OffsetMark> marks) throws SQLException {
		List<UUID> ids = marks.stream().map(OffsetMark::id).toList();
		Parameters parameters = Parameters.none()
			.with("id", "uuid", ids.toArray())
			.with("scope", "text", marks, OffsetMark::scope)
			.with("topic", "text", marks, OffsetMark::topic)
			.with("topic_partition", "integer", marks, OffsetMark::partition)
			.with("topic_id", "uuid", marks, OffsetMark::topicId)
			.with("last_offset", "bigint", marks, OffsetMark::offset)
			.with("token", "uuid", marks, OffsetMark::token);
		Map<UUID, Long> previous = new HashMap<>();
		this.sql.raise()
			.query(connection, parameters, (row) -> previous
				.put(Objects.requireNonNull(this.sql.types().uuid(row, "id")), row.getLong("previous")));
		Assert.state(previous.keySet().containsAll(ids), "The database has not returned all previous marks");
		written(marks.get(0));
		return ids.stream().map(previous::get).toList();
	}

	void undo(List<OffsetMark> marks) {
		if (!marks.isEmpty()) {
			this.executor.autonomous((connection) -> {
				for (OffsetMark mark : marks) {
					this.sql.undo().update(connection, Parameters.of("id", mark.id()).with("token", mark.token()));
				}
				return marks;
			});
		}
	}

	private void written(OffsetMark mark) {
		SqlStatement statement = this.sql.written();
		if (statement != null) {
			Parameters written = Parameters.of("id", mark.id()).with("last_offset", mark.offset());
			FirstWrite.remember(this.claims, mark.id(), (connection) -> statement.update(connection, written) > 0);
		}
	}

	@Override
	public OptionalLong find(OffsetMark mark) {
		return this.executor.first(this.sql.find(), Parameters.of("id", mark.id()), (row) -> row.getLong(1))
			.map(OptionalLong::of)
			.orElse(OptionalLong.empty());
	}

	@Override
	public List<StoredMark> list(int limit) {
		ValueTypes types = this.sql.types();
		return this.executor.query(this.sql.list(), Parameters.of("limit", limit),
				(row) -> new StoredMark(row.getString("scope"), row.getString("topic"),
						Objects.requireNonNull(types.uuid(row, "topic_id")), row.getInt("topic_partition"),
						row.getLong("last_offset"),
						Objects.requireNonNull(types.time(row, row.findColumn("updated_at"))).toInstant()));
	}

	@Override
	public boolean lower(String scope, String topic, int partition, long next) {
		Assert.isTrue(next >= 0, "'next' must not be negative");
		Parameters parameters = Parameters.of("scope", scope).with("topic", topic).with("topic_partition", partition);
		return this.executor.autonomous((connection) -> {
			int lowered = 0;
			// On some databases, an update by other columns than the key would
			// wait for the marks of other partitions.
			for (UUID id : this.sql.ids()
				.query(connection, parameters, (row) -> Objects.requireNonNull(this.sql.types().uuid(row, "id")))) {
				lowered += (next == 0) ? this.sql.delete().update(connection, Parameters.of("id", id))
						: this.sql.lower().update(connection, Parameters.of("id", id).with("last_offset", next - 1));
			}
			return lowered > 0;
		});
	}

}
