package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.jdbc.RequiredTable.FoundColumn;

/**
 * Tables beside that of the records that only some listeners need. They are checked when
 * such a listener is registered, so that an update with a schema that is migrated by hand
 * can begin without them.
 */
final class OptionalTables {

	private final DataSource dataSource;

	private final Dialect dialect;

	private final TableName records;

	private final List<RequiredTable> tables;

	private volatile boolean usable;

	OptionalTables(DataSource dataSource, Dialect dialect, TableName records, List<RequiredTable> tables) {
		this.dataSource = dataSource;
		this.dialect = dialect;
		this.records = records;
		this.tables = tables;
	}

	/**
	 * The reason why the tables cannot be used.
	 */
	@Nullable String problem() {
		if (this.usable) {
			return null;
		}
		String problem = DatabaseInspection.ask(this.dataSource, this::problem);
		this.usable = problem.isEmpty();
		return this.usable ? null : problem;
	}

	private String problem(Connection connection) throws SQLException {
		Catalog catalog = this.dialect.catalog();
		Map<String, Map<String, FoundColumn>> found = catalog.columns(connection, this.records, this.tables);
		for (RequiredTable table : this.tables) {
			String name = this.records + table.name().substring(this.records.table().length());
			Map<String, FoundColumn> columns = found.get(table.name());
			if (columns == null) {
				return "The table '" + name + "' does not exist. Set 'idempotency.jdbc.schema' to 'migrate', or "
						+ "run the scripts in '" + String.join("' and '", catalog.migrations()) + "' yourself";
			}
			String problems = table.problems(columns, catalog::nameOf);
			if (!problems.isEmpty()) {
				return "The table '" + name + "' cannot be used: " + problems;
			}
		}
		try {
			catalog.requirePrivileges(connection, this.records, this.tables, List.of());
		}
		catch (IdempotencyConfigurationException ex) {
			return String.valueOf(ex.getMessage());
		}
		return "";
	}

}
