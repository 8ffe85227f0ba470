/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
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

import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore.ClaimedRow;
import dev.idempotency.outbox.OutboxStore.DeadLetter;
import dev.idempotency.outbox.OutboxStore.Status;
import dev.idempotency.outbox.UndecodableMessageException;
import dev.idempotency.store.Failure;

/**
 * Writes messages to rows of the outbox and reads them.
 */
final class OutboxRowMapper {

	private static final String INSERT = """
			INSERT INTO %1$s (id, lane, topic, message_key, payload, headers, idempotency_key,
			  aggregatetype, aggregateid, type, published_at)
			VALUES (:id, :lane, :topic, :message_key, :payload, :headers, :idempotency_key, :aggregatetype, :aggregateid,
			  :type, %2$s)""";

	private static final Duration MAX_AGE = Duration.ofDays(36_500);

	private OutboxRowMapper() {
	}

	// The statement that adds a message.
	static SqlStatement insert(OutboxSql sql, boolean published) {
		return sql.statement(INSERT.formatted(sql.table(), published ? sql.now() : "NULL"));
	}

	static Parameters parameters(OutboxRow row) {
		return Parameters.of("id", row.id())
			.with("lane", row.lane(OutboxSql.LANES))
			.with("topic", row.topic())
			.with("message_key", row.key())
			.with("payload", row.payload())
			.with("headers", headers(row.headers()))
			.with("idempotency_key", row.idempotencyKey())
			.with("aggregatetype", row.aggregateType())
			.with("aggregateid", row.aggregateId())
			.with("type", row.type());
	}

	static ClaimedRow claimed(ResultSet row, ValueTypes types) throws SQLException {
		return new Decoder(row, types).claimed();
	}

	static DeadLetter deadLetter(ResultSet row, ValueTypes types) throws SQLException {
		return new DeadLetter(Objects.requireNonNull(types.uuid(row, "id")), row.getString("topic"),
				row.getString("aggregatetype"), row.getString("aggregateid"), row.getString("type"),
				row.getString("idempotency_key"), time(row, "created_at", types).toInstant(),
				time(row, "dead_letter_at", types).toInstant(), row.getInt("attempts"),
				new Failure(String.valueOf(row.getString("error_type")), row.getString("error_message")));
	}

	static Status status(ResultSet row, ValueTypes types) throws SQLException {
		OffsetDateTime now = Objects.requireNonNull(types.time(row, 3));
		Duration pending = age(types.time(row, 2), now);
		Duration blocked = age(types.time(row, 6), now);
		return new Status(row.getLong(1), (pending.compareTo(blocked) > 0) ? pending : blocked, row.getLong(4),
				row.getLong(5));
	}

	private static OffsetDateTime time(ResultSet row, String column, ValueTypes types) throws SQLException {
		return Objects.requireNonNull(types.time(row, row.findColumn(column)));
	}

	// The age is limited: the row may be newer than the reading transaction, and its
	// time may be '-infinity'.
	private static Duration age(@Nullable OffsetDateTime since, OffsetDateTime now) {
		if (since == null) {
			return Duration.ZERO;
		}
		Duration age = Duration.between(since, now);
		return age.isNegative() ? Duration.ZERO : (age.compareTo(MAX_AGE) < 0) ? age : MAX_AGE;
	}

	private static @Nullable String headers(List<OutboxMessage.Header> headers) {
		return headers.isEmpty() ? null
				: headers.stream().map(OutboxRowMapper::header).collect(Collectors.joining("&"));
	}

	private static String header(OutboxMessage.Header header) {
		String name = URLEncoder.encode(header.name(), StandardCharsets.UTF_8);
		byte[] value = header.value();
		// ISO 8859-1 maps each byte to a character: every value can be stored, and
		// most are readable.
		return (value != null)
				? name + "="
						+ URLEncoder.encode(new String(value, StandardCharsets.ISO_8859_1), StandardCharsets.ISO_8859_1)
				: name;
	}

	private static List<OutboxMessage.Header> headers(@Nullable String text) {
		return (text != null) ? Arrays.stream(text.split("&")).map(OutboxRowMapper::header).toList() : List.of();
	}

	private static OutboxMessage.Header header(String text) {
		int end = text.indexOf('=');
		String name = URLDecoder.decode((end < 0) ? text : text.substring(0, end), StandardCharsets.UTF_8);
		byte[] value = (end < 0) ? null : URLDecoder.decode(text.substring(end + 1), StandardCharsets.ISO_8859_1)
			.getBytes(StandardCharsets.ISO_8859_1);
		return new OutboxMessage.Header(name, value);
	}

	/**
	 * Decodes one row. If a column cannot be decoded, only that message fails.
	 */
	private static final class Decoder {

		private final ResultSet row;

		private final ValueTypes types;

		private @Nullable UndecodableMessageException error;

		Decoder(ResultSet row, ValueTypes types) {
			this.row = row;
			this.types = types;
		}

		// Without its id, no failure can be recorded for a row.
		ClaimedRow claimed() throws SQLException {
			UUID id = Objects.requireNonNull(this.types.uuid(this.row, "id"));
			List<OutboxMessage.Header> headers = read("headers", List.of(),
					(column) -> OutboxRowMapper.headers(this.row.getString(column)));
			OutboxRow message = new OutboxRow(id, text("topic"), read("message_key", this.row::getBytes),
					read("payload", this.row::getBytes), headers, text("idempotency_key"), text("aggregatetype"),
					text("aggregateid"), text("type"));
			int attempts = read("attempts", 0, this.row::getInt);
			Duration age = read("created_at", Duration.ZERO,
					(column) -> age(time(this.row, column, this.types), time(this.row, "read_at", this.types)));
			checkLane(message);
			return new ClaimedRow(message, attempts, age, System.nanoTime(), this.error);
		}

		// In another lane, another relay may publish the same key concurrently.
		private void checkLane(OutboxRow message) {
			int lane = read("lane", 0, this.row::getInt);
			int expected = message.lane(OutboxSql.LANES);
			if (this.error == null && message.key() != null && lane != expected) {
				this.error = new UndecodableMessageException(
						"The message is in lane " + lane + ", but its topic and key belong to lane " + expected
								+ ", so that its order cannot be preserved.");
			}
		}

		private String text(String column) {
			return read(column, "", (name) -> Objects.requireNonNull(this.row.getString(name)));
		}

		private <T> T read(String column, T otherwise, Reader<T> reader) {
			T value = read(column, reader);
			return (value != null) ? value : otherwise;
		}

		// The message of the exception may contain the value.
		private <T> @Nullable T read(String column, Reader<T> reader) {
			try {
				return reader.read(column);
			}
			catch (SQLException | RuntimeException ex) {
				if (this.error == null) {
					this.error = new UndecodableMessageException("The column '" + column
							+ "' of the message cannot be decoded (" + ex.getClass().getName() + ").");
				}
				return null;
			}
		}

		private interface Reader<T> {

			@Nullable T read(String column) throws SQLException;

		}

	}

}
