package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * The checks that a database has what the store and the outbox need, and that its user
 * may use it.
 *
 * @since 0.1.0
 */
public final class JdbcSchemaValidation {

	private JdbcSchemaValidation() {
	}

	/**
	 * Make sure that the single table exists, that its columns take a record and that the
	 * user of the {@link DataSource} may use it. Additional columns need no value.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @throws IdempotencyConfigurationException if something is missing or different
	 * @throws IdempotencyStoreUnavailableException if the database does not answer
	 */
	public static void validate(DataSource dataSource, TableName table) {
		validate(dataSource, table, Layout.SINGLE);
	}

	/**
	 * Make sure that the table exists, with its layout, that its columns take a record
	 * and that the user of the {@link DataSource} may use it. Additional columns need no
	 * value.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param layout how the records are kept
	 * @throws IdempotencyConfigurationException if something is missing or different
	 * @throws IdempotencyStoreUnavailableException if the database does not answer
	 */
	public static void validate(DataSource dataSource, TableName table, Layout layout) {
		check(dataSource, table, layout, true);
	}

	/**
	 * Make sure that the table exists, with its layout, and that the user of the
	 * {@link DataSource} may use it.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param layout how the records are kept
	 * @throws IdempotencyConfigurationException if the table or a privilege is missing
	 * @throws IdempotencyStoreUnavailableException if the database does not answer
	 */
	public static void requirePrivileges(DataSource dataSource, TableName table, Layout layout) {
		check(dataSource, table, layout, false);
	}

	/**
	 * Make sure that the user of the {@link DataSource} may create and drop partitions.
	 * @param dataSource the database
	 * @param table the name of a partitioned table that exists
	 * @throws IdempotencyConfigurationException if a privilege is missing
	 * @throws IdempotencyStoreUnavailableException if the database does not answer
	 */
	public static void requireMaintenance(DataSource dataSource, TableName table) {
		Databases.ask(dataSource, (connection) -> {
			Dialect dialect = Databases.dialect(connection, Layout.PARTITIONED);
			dialect.catalog().requireMaintenance(connection, Databases.qualified(connection, dialect, table));
			return table;
		});
	}

	/**
	 * Make sure that the tables of an outbox exist, that their columns take a message,
	 * that no lane is missing and that the user of the {@link DataSource} may use them.
	 * Additional columns need no value.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @throws IdempotencyConfigurationException if something is missing or different
	 * @throws IdempotencyStoreUnavailableException if the database does not answer
	 */
	public static void validateOutbox(DataSource dataSource, TableName table) {
		validateOutbox(dataSource, table, false);
	}

	/**
	 * Make sure that the tables of an outbox exist, that their columns take a message,
	 * that no lane is missing and that the user of the {@link DataSource} may use them.
	 * Additional columns need no value.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param onlySends whether others publish the messages and delete them, so that the
	 * user needs only what sending takes
	 * @throws IdempotencyConfigurationException if something is missing or different
	 * @throws IdempotencyStoreUnavailableException if the database does not answer
	 */
	public static void validateOutbox(DataSource dataSource, TableName table, boolean onlySends) {
		checkOutbox(dataSource, table, onlySends, true);
	}

	/**
	 * Make sure that the tables of an outbox exist, that no lane is missing and that the
	 * user of the {@link DataSource} may use them.
	 * @param dataSource the database
	 * @param table the name of the table
	 * @param onlySends whether others publish the messages and delete them, so that the
	 * user needs only what sending takes
	 * @throws IdempotencyConfigurationException if a table or a privilege is missing
	 * @throws IdempotencyStoreUnavailableException if the database does not answer
	 */
	public static void requireOutboxPrivileges(DataSource dataSource, TableName table, boolean onlySends) {
		checkOutbox(dataSource, table, onlySends, false);
	}

	/**
	 * Make sure that the thread that starts the application reaches a database. Only a
	 * {@link DataSource} that chooses its database by the thread is asked.
	 * @param dataSource the database
	 * @throws IdempotencyConfigurationException if it has none for this thread
	 */
	public static void requireTarget(DataSource dataSource) {
		if (!Databases.isRouting(dataSource)) {
			return;
		}
		try (Connection connection = dataSource.getConnection()) {
			// A lazy proxy opens its connection only now.
			connection.getMetaData();
		}
		catch (IllegalStateException ex) {
			throw new IdempotencyConfigurationException(
					"The DataSource of the idempotency store or the outbox chooses its database by the thread "
							+ "(AbstractRoutingDataSource), and has no database for the thread that starts the application: "
							+ ex.getMessage() + ".",
					"Give it a default with setDefaultTargetDataSource, or name a DataSource that always leads to the same "
							+ "database with 'idempotency.jdbc.data-source'.");
		}
		catch (SQLException ex) {
			// Whatever needs the database next says that it does not answer.
		}
	}

	private static void check(DataSource dataSource, TableName table, Layout layout, boolean columns) {
		Databases.ask(dataSource, (connection) -> {
			Dialect dialect = Databases.dialect(connection, layout);
			TableName qualified = Databases.qualified(connection, dialect, table);
			List<RequiredTable> tables = RequiredTable.ofRecords(table, layout);
			List<String> scripts = dialect.migrations();
			Map<String, Map<String, FoundColumn>> found = columns(connection, dialect, qualified, tables);
			requireTables(table, tables.subList(0, 1), found, scripts);
			dialect.catalog().requirePrivileges(connection, qualified, tables, dialect.functions(qualified));
			// With another layout the rest is different, too.
			dialect.check(connection, table);
			requireTables(table, tables, found, scripts);
			if (columns) {
				requireColumns(table, tables, found, scripts);
			}
			return table;
		});
	}

	private static void checkOutbox(DataSource dataSource, TableName table, boolean onlySends, boolean columns) {
		Databases.ask(dataSource, (connection) -> {
			Dialect dialect = Databases.dialect(connection, Layout.SINGLE);
			TableName qualified = Databases.qualified(connection, dialect, table);
			OutboxSql outbox = dialect.outbox(qualified);
			List<RequiredTable> tables = RequiredTable.ofOutbox(table, onlySends);
			List<String> scripts = List.of(outbox.migrations());
			Map<String, Map<String, FoundColumn>> found = columns(connection, dialect, qualified, tables);
			requireTables(table, tables, found, scripts);
			dialect.catalog().requirePrivileges(connection, qualified, tables, List.of());
			if (columns) {
				requireColumns(table, tables, found, scripts);
			}
			if (Connections.update(connection, outbox.allLanes()) != OutboxSql.LANES) {
				throw new IdempotencyConfigurationException(
						"The table '" + table + "_lane' of the outbox does not have its " + OutboxSql.LANES
								+ " rows, without which nothing is published.",
						"Run the INSERT at the end of the script in '" + outbox.migrations() + "' again.");
			}
			return table;
		});
	}

	private static Map<String, Map<String, FoundColumn>> columns(Connection connection, Dialect dialect,
			TableName qualified, List<RequiredTable> tables) throws SQLException {
		return dialect.catalog().columns(connection, qualified, tables.stream().map(RequiredTable::name).toList());
	}

	private static void requireTables(TableName main, List<RequiredTable> tables,
			Map<String, Map<String, FoundColumn>> found, List<String> scripts) {
		for (RequiredTable table : tables) {
			if (!found.containsKey(table.name())) {
				throw new IdempotencyConfigurationException(
						"The table '" + name(main, table) + "' cannot be used: it does not exist.",
						"Set 'idempotency.jdbc.schema' to 'migrate', or run the scripts in '"
								+ String.join("' and '", scripts) + "' yourself.");
			}
		}
	}

	private static void requireColumns(TableName main, List<RequiredTable> tables,
			Map<String, Map<String, FoundColumn>> found, List<String> scripts) {
		for (RequiredTable table : tables) {
			String problems = problems(table, found.getOrDefault(table.name(), Map.of()));
			if (!problems.isEmpty()) {
				throw new IdempotencyConfigurationException(
						"The table '" + name(main, table) + "' cannot be used: " + problems + ".",
						"Alter it to be as the scripts in '" + String.join("' and '", scripts) + "' create it. "
								+ "Those that have not been run yet run with 'idempotency.jdbc.schema' set to 'migrate'.");
			}
		}
	}

	private static String problems(RequiredTable table, Map<String, FoundColumn> found) {
		Map<String, FoundColumn> additional = new TreeMap<>(found);
		table.columns().forEach((column) -> additional.remove(column.name()));
		return Stream
			.concat(table.columns().stream().map((column) -> problem(column, found.get(column.name()))),
					additional.values().stream().map((column) -> column.problem(null)))
			.filter(Objects::nonNull)
			.collect(Collectors.joining("; "));
	}

	private static @Nullable String problem(RequiredColumn required, @Nullable FoundColumn found) {
		return (found != null) ? found.problem(required) : "its column '" + required.name() + "' is missing";
	}

	// As the user writes it.
	private static String name(TableName main, RequiredTable table) {
		return main + table.name().substring(main.table().length());
	}

}
