package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * The catalog of H2. It checks no privileges, because H2 is supported for tests only.
 */
final class H2Catalog extends Catalog {

	// Unquoted names are in upper case or in lower case, depending on the settings
	// of H2.
	private static final String COLUMNS = """
			SELECT LOWER(TABLE_NAME), LOWER(COLUMN_NAME), DATA_TYPE, IS_NULLABLE = 'NO',
			  COLUMN_DEFAULT IS NOT NULL OR IS_IDENTITY = 'YES' OR IS_GENERATED = 'ALWAYS'
			FROM INFORMATION_SCHEMA.COLUMNS WHERE LOWER(TABLE_SCHEMA) = LOWER(:schema) AND LOWER(TABLE_NAME) = ANY (:names)""";

	H2Catalog() {
		super(COLUMNS);
	}

	@Override
	List<String> migrations() {
		return List.of("dev/idempotency/jdbc/h2");
	}

	@Override
	@Nullable String schema(Connection connection, TableName table) throws SQLException {
		return connection.getSchema();
	}

	@Override
	void requireLayout(Connection connection, TableName table) {
	}

	@Override
	void requirePrivileges(Connection connection, TableName table, List<RequiredTable> tables, List<String> functions) {
	}

	@Override
	void requireMigration(Connection connection, TableName table, List<String> scripts) {
	}

	@Override
	boolean hasOtherOwner(Connection connection, TableName table) {
		return false;
	}

	@Override
	String databaseIdentity(Connection connection) throws SQLException {
		return SqlStatement.of("SELECT CURRENT_CATALOG || COALESCE(DATABASE_PATH(), '')")
			.first(connection, Parameters.none(), (row) -> row.getString(1))
			.orElseThrow();
	}

}
