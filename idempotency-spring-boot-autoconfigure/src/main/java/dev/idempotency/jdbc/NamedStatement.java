package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;

/**
 * A statement whose parameters have names, {@code :name}, each of which may occur several
 * times.
 *
 * @param sql the statement as JDBC takes it
 * @param names the names in the order of their places
 */
record NamedStatement(String sql, List<String> names) {

	// Not a cast, which has two colons.
	private static final Pattern NAME = Pattern.compile("(?<!:):([a-z]+)");

	static NamedStatement of(String text) {
		return new NamedStatement(NAME.matcher(text).replaceAll("?"),
				NAME.matcher(text).results().map((MatchResult found) -> found.group(1)).toList());
	}

	PreparedStatement prepare(Connection connection, Map<String, ?> parameters) throws SQLException {
		return Connections.prepare(connection, this.sql, this.names.stream().map(parameters::get).toArray());
	}

}
