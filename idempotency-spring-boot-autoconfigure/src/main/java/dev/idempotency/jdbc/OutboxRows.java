package dev.idempotency.jdbc;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.outbox.OutboxClaim.ClaimedRow;
import dev.idempotency.outbox.OutboxHeader;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore.DeadLetter;
import dev.idempotency.store.Failure;

/**
 * Writes and reads rows of the outbox.
 */
final class OutboxRows {

	private static final Duration MAX_AGE = Duration.ofDays(36_500);

	private OutboxRows() {
	}

	static void bind(PreparedStatement statement, OutboxRow row) throws SQLException {
		statement.setObject(1, row.id());
		statement.setInt(2, row.lane(OutboxSql.LANES));
		statement.setString(3, row.topic());
		statement.setBytes(4, row.key());
		statement.setBytes(5, row.payload());
		statement.setString(6, headers(row.headers()));
		statement.setString(7, row.idempotencyKey());
		statement.setString(8, row.aggregateType());
		statement.setString(9, row.aggregateId());
		statement.setString(10, row.type());
	}

	static ClaimedRow claimed(ResultSet row) throws SQLException {
		return new OutboxRowDecoder(row).claimed();
	}

	static DeadLetter deadLetter(ResultSet row) throws SQLException {
		return new DeadLetter(Objects.requireNonNull(row.getObject("id", UUID.class)), row.getString("topic"),
				row.getString("aggregatetype"), row.getString("aggregateid"), row.getString("type"),
				row.getString("idempotency_key"), time(row, "created_at").toInstant(),
				time(row, "set_aside_at").toInstant(), row.getInt("attempts"),
				new Failure(String.valueOf(row.getString("error_type")), row.getString("error_message")));
	}

	static OffsetDateTime time(ResultSet row, String column) throws SQLException {
		return Objects.requireNonNull(row.getObject(column, OffsetDateTime.class));
	}

	// A transaction may have begun after the one that reads its row, and '-infinity' is a
	// time, too.
	static Duration age(@Nullable OffsetDateTime since, OffsetDateTime now) {
		if (since == null) {
			return Duration.ZERO;
		}
		Duration age = Duration.between(since, now);
		return age.isNegative() ? Duration.ZERO : (age.compareTo(MAX_AGE) < 0) ? age : MAX_AGE;
	}

	private static @Nullable String headers(List<OutboxHeader> headers) {
		if (headers.isEmpty()) {
			return null;
		}
		return headers.stream().map(OutboxRows::header).collect(Collectors.joining("&"));
	}

	private static String header(OutboxHeader header) {
		String name = URLEncoder.encode(header.name(), StandardCharsets.UTF_8);
		byte[] value = header.value();
		// Each byte a character: any value can be written so, and most can be read.
		return (value != null)
				? name + "="
						+ URLEncoder.encode(new String(value, StandardCharsets.ISO_8859_1), StandardCharsets.ISO_8859_1)
				: name;
	}

	static List<OutboxHeader> headers(@Nullable String text) {
		return (text != null) ? Arrays.stream(text.split("&")).map(OutboxRows::header).toList() : List.of();
	}

	private static OutboxHeader header(String text) {
		int end = text.indexOf('=');
		String name = URLDecoder.decode((end < 0) ? text : text.substring(0, end), StandardCharsets.UTF_8);
		byte[] value = (end < 0) ? null : URLDecoder.decode(text.substring(end + 1), StandardCharsets.ISO_8859_1)
			.getBytes(StandardCharsets.ISO_8859_1);
		return new OutboxHeader(name, value);
	}

}
