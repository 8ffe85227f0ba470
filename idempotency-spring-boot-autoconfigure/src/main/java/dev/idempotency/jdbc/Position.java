package dev.idempotency.jdbc;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.DateTimeException;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Objects;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * A record in the order of what expires first.
 *
 * @param expiresAt when it expires
 * @param id its id
 */
record Position(OffsetDateTime expiresAt, UUID id) {

	static final Position FIRST = new Position(OffsetDateTime.of(1970, 1, 1, 0, 0, 0, 0, ZoneOffset.UTC),
			new UUID(0, 0));

	static final Position LAST = new Position(OffsetDateTime.of(9999, 12, 31, 0, 0, 0, 0, ZoneOffset.UTC),
			new UUID(-1, -1));

	private static final char SEPARATOR = '_';

	static Position of(ResultSet row) throws SQLException {
		return new Position(Objects.requireNonNull(row.getObject("expires_at", OffsetDateTime.class)),
				Objects.requireNonNull(row.getObject("id", UUID.class)));
	}

	static Position parse(@Nullable String text) {
		if (text == null) {
			return LAST;
		}
		try {
			int separator = text.indexOf(SEPARATOR);
			return new Position(OffsetDateTime.parse(text.substring(0, Math.max(0, separator))),
					UUID.fromString(text.substring(separator + 1)));
		}
		catch (DateTimeException | IllegalArgumentException ex) {
			throw new IllegalArgumentException("No page ends at '" + text + "'", ex);
		}
	}

	// In the order in which the statements bind it.
	Object[] parameters() {
		return new Object[] { this.expiresAt, this.expiresAt, this.id };
	}

	@Override
	public String toString() {
		return this.expiresAt.withOffsetSameInstant(ZoneOffset.UTC).toString() + SEPARATOR + this.id;
	}

}
