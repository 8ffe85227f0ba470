package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * An SQL statement with named parameters, {@code :name}. A name may occur several times.
 *
 * @param sql the statement with a question mark for each parameter
 * @param names the names of the parameters in the order of their question marks
 * @param limit limits the time of a statement that may wait for a lock, {@code null} if
 * the statement does so itself or does not wait
 */
record SqlStatement(String sql, List<String> names, @Nullable StatementLimit limit) {

	// The name of a schema can contain a colon, so quoted identifiers are skipped. The
	// lookbehind excludes casts, which have two colons.
	private static final Pattern NAME = Pattern.compile("\"[^\"]*\"|(?<!:):([a-z]+)");

	static SqlStatement of(String text) {
		List<String> names = new ArrayList<>();
		String sql = NAME.matcher(text).replaceAll((found) -> {
			if (found.group(1) == null) {
				return Matcher.quoteReplacement(found.group());
			}
			names.add(found.group(1));
			return "?";
		});
		return new SqlStatement(sql, List.copyOf(names), null);
	}

	SqlStatement limitedBy(StatementLimit limit) {
		return new SqlStatement(this.sql, this.names, limit);
	}

	PreparedStatement prepare(Connection connection, Parameters parameters) throws SQLException {
		PreparedStatement statement = connection.prepareStatement(this.sql);
		bind(statement, connection, parameters);
		return statement;
	}

	private void bind(PreparedStatement statement, Connection connection, Parameters parameters) throws SQLException {
		for (int i = 0; i < this.names.size(); i++) {
			statement.setObject(i + 1, parameters.value(this.names.get(i), connection));
		}
	}

	private StatementLimit.@Nullable Running limit(PreparedStatement statement) {
		return (this.limit != null) ? this.limit.start(statement) : null;
	}

	private static void check(StatementLimit.@Nullable Running running) throws SQLException {
		if (running != null) {
			running.check();
		}
	}

	<T> List<T> query(Connection connection, Parameters parameters, RowReader<T> reader) throws SQLException {
		try (PreparedStatement statement = prepare(connection, parameters);
				StatementLimit.Running running = limit(statement);
				ResultSet rows = statement.executeQuery()) {
			check(running);
			List<T> read = new ArrayList<>();
			while (rows.next()) {
				read.add(reader.read(rows));
			}
			return read;
		}
	}

	/**
	 * Run a query and read its first row.
	 * @param <T> the type of the value
	 * @param connection the connection
	 * @param parameters the parameters
	 * @param reader reads the row
	 * @return the value, empty if there is no row or the value is null
	 * @throws SQLException if the database refuses the statement or is unavailable
	 */
	<T> Optional<T> first(Connection connection, Parameters parameters, RowReader<T> reader) throws SQLException {
		try (PreparedStatement statement = prepare(connection, parameters);
				StatementLimit.Running running = limit(statement);
				ResultSet rows = statement.executeQuery()) {
			check(running);
			return rows.next() ? Optional.ofNullable(reader.read(rows)) : Optional.empty();
		}
	}

	/**
	 * Run a statement that changes rows or returns them.
	 * @param connection the connection
	 * @param parameters the parameters
	 * @return the number of rows that it returns, else the number of rows that it changed
	 * @throws SQLException if the database refuses the statement or is unavailable
	 */
	int update(Connection connection, Parameters parameters) throws SQLException {
		try (PreparedStatement statement = prepare(connection, parameters);
				StatementLimit.Running running = limit(statement)) {
			boolean rowsReturned = statement.execute();
			check(running);
			if (!rowsReturned) {
				return statement.getUpdateCount();
			}
			int rows = 0;
			for (ResultSet returned = statement.getResultSet(); returned.next();) {
				rows++;
			}
			return rows;
		}
	}

	void batch(Connection connection, List<Parameters> batch) throws SQLException {
		if (batch.isEmpty()) {
			return;
		}
		try (PreparedStatement statement = connection.prepareStatement(this.sql)) {
			for (Parameters parameters : batch) {
				bind(statement, connection, parameters);
				statement.addBatch();
			}
			statement.executeBatch();
		}
	}

	/**
	 * Reads the current row of a result.
	 *
	 * @param <T> the type of the value
	 */
	interface RowReader<T> {

		T read(ResultSet row) throws SQLException;

	}

}
