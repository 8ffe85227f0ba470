package dev.idempotency.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.outbox.OutboxClaim.ClaimedRow;
import dev.idempotency.outbox.OutboxHeader;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.UndecodableMessageException;

/**
 * Turns one row into a message. A column that cannot be read makes that row undecodable,
 * and no other.
 */
final class OutboxRowDecoder {

	private final ResultSet row;

	private @Nullable UndecodableMessageException error;

	OutboxRowDecoder(ResultSet row) {
		this.row = row;
	}

	// Without its identity nothing can be recorded about a row.
	ClaimedRow claimed() throws SQLException {
		UUID id = Objects.requireNonNull(this.row.getObject("id", UUID.class));
		List<OutboxHeader> headers = read("headers", List.of(),
				(column) -> OutboxRows.headers(this.row.getString(column)));
		OutboxRow message = new OutboxRow(id, text("topic"), bytes("message_key"), bytes("payload"), headers,
				text("idempotency_key"), text("aggregatetype"), text("aggregateid"), text("type"));
		int attempts = read("attempts", 0, this.row::getInt);
		Duration age = read("created_at", Duration.ZERO,
				(column) -> OutboxRows.age(OutboxRows.time(this.row, column), OutboxRows.time(this.row, "read_at")));
		checkLane(message);
		return new ClaimedRow(message, attempts, age, System.nanoTime(), this.error);
	}

	// Another relay may be publishing messages with its key at the same time.
	private void checkLane(OutboxRow message) {
		int lane = read("lane", 0, this.row::getInt);
		int expected = message.lane(OutboxSql.LANES);
		if (this.error == null && message.key() != null && lane != expected) {
			this.error = new UndecodableMessageException("The message is in lane " + lane
					+ ", but its topic and key belong to lane " + expected + ", so that its order cannot be kept.");
		}
	}

	private String text(String column) {
		return read(column, "", (name) -> Objects.requireNonNull(this.row.getString(name)));
	}

	private byte @Nullable [] bytes(String column) {
		try {
			return this.row.getBytes(column);
		}
		catch (SQLException | RuntimeException ex) {
			remember(column, ex);
			return null;
		}
	}

	private <T> T read(String column, T otherwise, Reader<T> reader) {
		try {
			return reader.read(column);
		}
		catch (SQLException | RuntimeException ex) {
			remember(column, ex);
			return otherwise;
		}
	}

	// The error's own message may quote the value.
	private void remember(String column, Exception error) {
		if (this.error == null) {
			this.error = new UndecodableMessageException("The column '" + column
					+ "' of the message cannot be decoded (" + error.getClass().getName() + ").");
		}
	}

	/**
	 * Reads a column.
	 *
	 * @param <T> the type of its value
	 */
	private interface Reader<T> {

		T read(String column) throws SQLException;

	}

}
