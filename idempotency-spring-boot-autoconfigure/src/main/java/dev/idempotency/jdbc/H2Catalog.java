package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The catalog of H2, whose users own what they use: it is for tests.
 */
final class H2Catalog implements Catalog {

	// Unquoted names are in upper case or in lower case, depending on its settings.
	private static final String COLUMNS = """
			SELECT LOWER(TABLE_NAME), LOWER(COLUMN_NAME), DATA_TYPE, IS_NULLABLE = 'NO',
			  COLUMN_DEFAULT IS NOT NULL OR IS_IDENTITY = 'YES' OR IS_GENERATED = 'ALWAYS'
			FROM INFORMATION_SCHEMA.COLUMNS WHERE LOWER(TABLE_SCHEMA) = LOWER(?) AND LOWER(TABLE_NAME) = ANY (?)""";

	@Override
	public Map<String, Map<String, FoundColumn>> columns(Connection connection, TableName table, List<String> names)
			throws SQLException {
		Map<String, Map<String, FoundColumn>> found = new HashMap<>();
		try (PreparedStatement statement = Connections.prepare(connection, COLUMNS, table.schemaName(),
				connection.createArrayOf("VARCHAR", names.toArray())); ResultSet row = statement.executeQuery()) {
			while (row.next()) {
				String column = row.getString(2);
				found.computeIfAbsent(row.getString(1), (name) -> new HashMap<>())
					.put(column, new FoundColumn(column, row.getString(3), row.getBoolean(4), row.getBoolean(5)));
			}
		}
		return found;
	}

	@Override
	public void requirePrivileges(Connection connection, TableName table, List<RequiredTable> tables,
			List<String> functions) {
	}

	@Override
	public void requireMaintenance(Connection connection, TableName table) {
	}

	@Override
	public void requireMigration(Connection connection, TableName table, List<String> scripts) {
	}

	@Override
	public boolean isOfAnother(Connection connection, TableName table) {
		return false;
	}

	@Override
	public String database(Connection connection) throws SQLException {
		try (PreparedStatement statement = connection
			.prepareStatement("SELECT CURRENT_CATALOG || COALESCE(DATABASE_PATH(), '')");
				ResultSet row = statement.executeQuery()) {
			row.next();
			return row.getString(1);
		}
	}

}
