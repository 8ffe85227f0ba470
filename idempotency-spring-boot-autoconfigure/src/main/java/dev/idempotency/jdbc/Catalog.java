package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Reads at start-up what a database has, and what its user may do.
 */
interface Catalog {

	/**
	 * Read the columns of tables, with one statement.
	 * @param connection a connection
	 * @param table a table of their schema
	 * @param names the names of the tables
	 * @return the columns by their names, by the names of the tables; nothing for a table
	 * that does not exist
	 * @throws SQLException if the database does not answer
	 */
	Map<String, Map<String, FoundColumn>> columns(Connection connection, TableName table, List<String> names)
			throws SQLException;

	/**
	 * Make sure that the user may do what the statements of the library do, with one
	 * statement. A table or a function that does not exist is left out.
	 * @param connection a connection
	 * @param table a table of the schema
	 * @param tables the tables
	 * @param functions the functions
	 * @throws SQLException if the database does not answer
	 * @throws IdempotencyConfigurationException if it may not
	 */
	void requirePrivileges(Connection connection, TableName table, List<RequiredTable> tables, List<String> functions)
			throws SQLException;

	/**
	 * Make sure that the user may create and drop partitions.
	 * @param connection a connection
	 * @param table the partitioned table
	 * @throws SQLException if the database does not answer
	 * @throws IdempotencyConfigurationException if it may not
	 */
	void requireMaintenance(Connection connection, TableName table) throws SQLException;

	/**
	 * Make sure that the user may run migrations.
	 * @param connection a connection
	 * @param table the table
	 * @param scripts the folders of the migrations
	 * @throws SQLException if the database does not answer
	 * @throws IdempotencyConfigurationException if it may not
	 */
	void requireMigration(Connection connection, TableName table, List<String> scripts) throws SQLException;

	/**
	 * Whether a table exists that the user cannot alter, because another user owns it.
	 * @param connection a connection
	 * @param table the table, with its schema
	 * @return whether that is so
	 * @throws SQLException if the database does not answer
	 */
	boolean isOfAnother(Connection connection, TableName table) throws SQLException;

	/**
	 * What two connections to the same database have in common.
	 * @param connection a connection
	 * @return the identity of its database
	 * @throws SQLException if the database does not answer
	 */
	String database(Connection connection) throws SQLException;

}
