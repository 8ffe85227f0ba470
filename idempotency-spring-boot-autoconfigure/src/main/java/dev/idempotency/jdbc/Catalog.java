package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.jdbc.RequiredTable.FoundColumn;

/**
 * The schema of a database and the privileges of its user, read at start-up. The methods
 * that have a body are about partitions, which only PostgreSQL supports.
 */
abstract class Catalog {

	private static final String INSUFFICIENT_PRIVILEGE = "42501";

	private final SqlStatement columns;

	/**
	 * Create a catalog.
	 * @param columns the statement that reads the columns of tables. Parameters:
	 * {@code schema} and {@code names} of the tables. Columns: the names of the table and
	 * the column in lower case, the type, whether it is NOT NULL, whether the database
	 * sets it
	 */
	Catalog(String columns) {
		this(columns, ValueTypes.STANDARD);
	}

	Catalog(String columns, ValueTypes types) {
		this.columns = SqlStatement.of(columns, types);
	}

	/**
	 * Read the columns of tables with one statement.
	 * @param connection a connection
	 * @param table a table of the schema
	 * @param tables the tables
	 * @return the columns by the name of the table and their own name, without tables
	 * that do not exist
	 * @throws SQLException if the database is unavailable
	 */
	Map<String, Map<String, FoundColumn>> columns(Connection connection, TableName table, List<RequiredTable> tables)
			throws SQLException {
		Map<String, Map<String, FoundColumn>> found = new HashMap<>();
		Parameters parameters = Parameters.of("schema", table.schemaName())
			.with("names", "text", tables.stream().map(RequiredTable::name).toArray());
		this.columns.query(connection, parameters, (row) -> {
			String column = row.getString(2);
			return found.computeIfAbsent(row.getString(1), (name) -> new HashMap<>())
				.put(column, new FoundColumn(column, row.getString(3), row.getBoolean(4), row.getBoolean(5)));
		});
		return found;
	}

	/**
	 * The folders on the class path that contain the migrations of the records.
	 * @return the folders, whose migrations are run together in the order of their
	 * versions
	 */
	abstract List<String> migrations();

	/**
	 * The placeholders of the migrations.
	 * @param table the table
	 * @return their values
	 */
	Map<String, String> placeholders(TableName table) {
		return Map.of("table", table.toString(), "name", table.table());
	}

	/**
	 * Prepare the history of the migrations.
	 * @param connection a connection of the user who runs them
	 * @param table the table
	 * @throws SQLException if the database is unavailable
	 */
	void beforeMigration(Connection connection, TableName table) throws SQLException {
	}

	/**
	 * The name of a type in messages.
	 * @param type the type
	 * @return its name in the database
	 */
	String nameOf(RequiredTable.Type type) {
		return type.toString();
	}

	/**
	 * Whether the user lacks a privilege.
	 * @param error the error of a statement
	 * @return whether it is about a privilege
	 */
	boolean isDenied(SQLException error) {
		return INSUFFICIENT_PRIVILEGE.equals(error.getSQLState());
	}

	/**
	 * The functions that the statements call.
	 * @param table the table
	 * @return the names without a schema
	 */
	List<String> functions(TableName table) {
		return List.of();
	}

	/**
	 * Find the schema of a table whose name has none.
	 * @param connection a connection
	 * @param table the table
	 * @return the schema in which the connection finds the table, else its current one,
	 * {@code null} if it has none
	 * @throws SQLException if the database is unavailable
	 */
	abstract @Nullable String schema(Connection connection, TableName table) throws SQLException;

	/**
	 * Whether the migrations would change the layout of an existing table, which cannot
	 * be undone.
	 * @param connection a connection
	 * @param table the table, which need not exist
	 * @return whether it exists with another layout
	 * @throws SQLException if the database is unavailable
	 */
	boolean needsConversion(Connection connection, TableName table) throws SQLException {
		return false;
	}

	/**
	 * Correct the last migration that the columns of a table show, by objects that are
	 * not columns.
	 * @param connection a connection
	 * @param table the table
	 * @param version the last version whose columns exist, 0 if there is no table
	 * @return that version or a later one
	 * @throws SQLException if the database is unavailable
	 */
	int version(Connection connection, TableName table, int version) throws SQLException {
		return version;
	}

	/**
	 * Make sure that the database can store every key and every message, and that the
	 * table has the configured layout.
	 * @param connection a connection
	 * @param table the table, which exists
	 * @throws SQLException if the database is unavailable
	 * @throws IdempotencyConfigurationException if it cannot
	 */
	abstract void requireLayout(Connection connection, TableName table) throws SQLException;

	/**
	 * Make sure that the user may run the statements of the store or the outbox. Tables
	 * and functions that do not exist are ignored.
	 * @param connection a connection
	 * @param table a table of the schema
	 * @param tables the tables
	 * @param functions the functions
	 * @throws SQLException if the database is unavailable
	 * @throws IdempotencyConfigurationException if the user lacks a privilege
	 */
	abstract void requirePrivileges(Connection connection, TableName table, List<RequiredTable> tables,
			List<String> functions) throws SQLException;

	/**
	 * Make sure that the user may create and drop partitions.
	 * @param connection a connection
	 * @param table the partitioned table
	 * @throws SQLException if the database is unavailable
	 * @throws IdempotencyConfigurationException if the user lacks a privilege
	 */
	void requireMaintenance(Connection connection, TableName table) throws SQLException {
	}

	/**
	 * Make sure that the user may run migrations.
	 * @param connection a connection
	 * @param table the table
	 * @param scripts the folders of the migrations
	 * @throws SQLException if the database is unavailable
	 * @throws IdempotencyConfigurationException if the user lacks a privilege
	 */
	abstract void requireMigration(Connection connection, TableName table, List<String> scripts) throws SQLException;

	/**
	 * Whether a table exists that the user cannot alter, because another user owns it.
	 * @param connection a connection
	 * @param table the table with its schema
	 * @return whether another user owns it
	 * @throws SQLException if the database is unavailable
	 */
	abstract boolean hasOtherOwner(Connection connection, TableName table) throws SQLException;

	/**
	 * An identity of the database that all its connections share.
	 * @param connection a connection
	 * @return the identity
	 * @throws SQLException if the database is unavailable
	 */
	abstract String databaseIdentity(Connection connection) throws SQLException;

	/**
	 * The alternatives of a user who may not migrate.
	 * @param scripts the folders of the migrations
	 * @return the end of a sentence that begins with "Migrate"
	 */
	static String otherWaysToMigrate(List<String> scripts) {
		return " with another user, whose DataSource bean is annotated with @FlywayDataSource; or let the owner of the "
				+ "schema run the scripts in '" + String.join("' and '", scripts)
				+ "', and set 'idempotency.jdbc.schema' to 'validate'.";
	}

}
