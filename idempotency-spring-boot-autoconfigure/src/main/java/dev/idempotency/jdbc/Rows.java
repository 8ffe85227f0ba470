package dev.idempotency.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;

/**
 * Reads rows of the table for people.
 */
final class Rows {

	private Rows() {
	}

	static IdempotencyRecord read(IdempotencyKey key, ResultSet row) throws SQLException {
		String errorType = row.getString("error_type");
		Failure failure = (errorType != null) ? new Failure(errorType, row.getString("error_message")) : null;
		State state = state(row.getString("state"));
		// An instance of an older version does not clear the time when it claims.
		Instant completedAt = (state == State.COMPLETED) ? optional(row.getTimestamp("completed_at")) : null;
		return new IdempotencyRecord(key, state, row.getInt("fence"), row.getInt("attempt"),
				optional(row.getTimestamp("lease_until")), row.getTimestamp("created_at").toInstant(), completedAt,
				row.getTimestamp("expires_at").toInstant(), failure);
	}

	private static State state(String letter) {
		return switch (letter) {
			case "P" -> State.IN_PROGRESS;
			case "C" -> State.COMPLETED;
			default -> State.FAILED;
		};
	}

	private static @Nullable Instant optional(@Nullable Timestamp timestamp) {
		return (timestamp != null) ? timestamp.toInstant() : null;
	}

}
