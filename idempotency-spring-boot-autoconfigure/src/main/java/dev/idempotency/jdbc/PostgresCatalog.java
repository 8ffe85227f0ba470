package dev.idempotency.jdbc;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The catalog of PostgreSQL. It can be read without any privilege, by the names of
 * objects: a name in a statement, or a regclass, is refused where the user may not use
 * the schema.
 */
final class PostgresCatalog implements Catalog {

	// A trigger before the insert of a row may give any column its value.
	private static final String COLUMNS = """
			SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
			  a.atthasdef OR a.attidentity <> '' OR EXISTS (SELECT FROM pg_trigger t
			    WHERE t.tgrelid = c.oid AND t.tgtype & 7 = 7 AND t.tgenabled IN ('O', 'A'))
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
			WHERE n.nspname = ? AND c.relname = ANY (?) AND c.relkind IN ('r', 'p', 'v', 'f')
			  AND a.attnum > 0 AND NOT a.attisdropped""";

	// Each row is a sentence's part and the statement that would make it wrong.
	// Whoever grants columns one by one chooses them: it is not for us to say which.
	private static final String PRIVILEGES = """
			WITH s AS (SELECT n.oid, n.nspname FROM pg_namespace n WHERE n.nspname = ?),
			lacking AS (
			  SELECT 1 AS place, 0::bigint AS number, 'USAGE' AS privileges, format('SCHEMA %I', s.nspname) AS object
			  FROM s WHERE NOT has_schema_privilege(s.oid, 'USAGE')
			  UNION ALL
			  SELECT 2, min(w.number), string_agg(w.privilege, ', ' ORDER BY w.number), format('%I.%I', s.nspname, c.relname)
			  FROM unnest(?, ?) WITH ORDINALITY AS w(name, privilege, number) CROSS JOIN s
			    JOIN pg_class c ON c.relnamespace = s.oid AND c.relname = w.name
			  WHERE NOT CASE w.privilege WHEN 'DELETE' THEN has_table_privilege(c.oid, w.privilege)
			    ELSE has_any_column_privilege(c.oid, w.privilege) END GROUP BY s.nspname, c.relname
			  UNION ALL
			  SELECT 3, 0, 'EXECUTE', format('FUNCTION %I.%I', s.nspname, p.proname)
			  FROM s JOIN pg_proc p ON p.pronamespace = s.oid
			  WHERE p.proname = ANY (?) AND NOT has_function_privilege(p.oid, 'EXECUTE'))
			SELECT current_user, string_agg(privileges || ' on ' || object, '; ' ORDER BY place, number, object),
			  string_agg('GRANT ' || privileges || ' ON ' || object || ' TO ' || quote_ident(current_user) || ';', ' '
			    ORDER BY place, number, object)
			FROM lacking HAVING count(*) > 0""";

	private static final String MAINTENANCE = """
			WITH t AS (SELECT c.oid, c.relowner, n.oid AS schema, n.nspname
			  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relname = ?),
			lacking AS (
			  SELECT format('CREATE on SCHEMA %I', nspname) AS what, format('CREATE ON SCHEMA %I', nspname) AS privilege
			  FROM t WHERE NOT has_schema_privilege(schema, 'CREATE')
			  UNION ALL
			  SELECT format('the role %I, which owns the table', pg_get_userbyid(relowner)),
			    quote_ident(pg_get_userbyid(relowner))
			  FROM t WHERE NOT pg_has_role(relowner, 'USAGE'))
			SELECT current_user, string_agg(what, '; ' ORDER BY what),
			  string_agg(format('GRANT %s TO %I;', privilege, current_user), ' ' ORDER BY what)
			FROM lacking HAVING count(*) > 0""";

	private static final String MIGRATION = """
			SELECT current_user, quote_ident(current_user), n.oid IS NOT NULL,
			  coalesce(has_schema_privilege(n.oid, 'USAGE') AND CASE WHEN h.oid IS NULL THEN has_schema_privilege(n.oid, 'CREATE')
			    ELSE has_table_privilege(h.oid, 'SELECT') END, FALSE), h.oid IS NOT NULL
			FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = ?
			  LEFT JOIN pg_class h ON h.relnamespace = n.oid AND h.relname = ?""";

	private static final String OF_ANOTHER = """
			SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			  WHERE n.nspname = ? AND c.relname = ? AND NOT pg_has_role(c.relowner, 'USAGE'))""";

	private static final String DATABASE = """
			SELECT current_database() || ' ' || extract(epoch FROM pg_postmaster_start_time())""";

	@Override
	public Map<String, Map<String, FoundColumn>> columns(Connection connection, TableName table, List<String> names)
			throws SQLException {
		Map<String, Map<String, FoundColumn>> found = new HashMap<>();
		try (PreparedStatement statement = Connections.prepare(connection, COLUMNS, table.schemaName(),
				names(connection, names)); ResultSet row = statement.executeQuery()) {
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
			List<String> functions) throws SQLException {
		List<String> objects = new ArrayList<>();
		List<String> privileges = new ArrayList<>();
		tables.forEach((required) -> required.privileges().forEach((privilege) -> {
			objects.add(required.name());
			privileges.add(privilege);
		}));
		Lacking lacking = lacking(connection, PRIVILEGES, table.schemaName(), names(connection, objects),
				names(connection, privileges), names(connection, functions));
		if (lacking != null) {
			throw new IdempotencyConfigurationException("The database user '" + lacking.user()
					+ "' lacks privileges that the idempotency store or the outbox needs: " + lacking.what() + ".",
					"Run this as the owner of the table: " + lacking.grants());
		}
	}

	@Override
	public void requireMaintenance(Connection connection, TableName table) throws SQLException {
		Lacking lacking = lacking(connection, MAINTENANCE, table.schemaName(), table.table());
		if (lacking != null) {
			throw new IdempotencyConfigurationException(
					"The database user '" + lacking.user() + "' cannot create and drop partitions of '" + table.table()
							+ "': it lacks " + lacking.what() + ".",
					"Run this as the owner of the table: " + lacking.grants()
							+ " Or set 'idempotency.cleanup.enabled' to 'false' here, and let an instance with the owner's "
							+ "user clean up.");
		}
	}

	private static @Nullable Lacking lacking(Connection connection, String sql, @Nullable Object... parameters)
			throws SQLException {
		try (PreparedStatement statement = Connections.prepare(connection, sql, parameters);
				ResultSet row = statement.executeQuery()) {
			return row.next() ? new Lacking(row.getString(1), row.getString(2), row.getString(3)) : null;
		}
	}

	// Without the privilege Flyway tries for seconds to create its history.
	@Override
	public void requireMigration(Connection connection, TableName table, List<String> scripts) throws SQLException {
		String schema = table.schemaName();
		try (PreparedStatement statement = Connections.prepare(connection, MIGRATION, schema, table.historyTable());
				ResultSet row = statement.executeQuery()) {
			row.next();
			String user = row.getString(1);
			if (schema == null) {
				throw new IdempotencyConfigurationException(
						"The database user '" + user + "' has no schema for the table '" + table + "'.",
						"Run GRANT USAGE, CREATE on a schema of its search path TO " + row.getString(2)
								+ "; or put the schema before the name of the table.");
			}
			if (!row.getBoolean(3)) {
				throw new IdempotencyConfigurationException(
						"The schema '" + schema + "' of the table '" + table + "' does not exist.",
						"Create it with CREATE SCHEMA " + table.schema() + ", or correct the name of the table.");
			}
			if (!row.getBoolean(4)) {
				throw refusal(row, table, schema, scripts);
			}
		}
	}

	private static IdempotencyConfigurationException refusal(ResultSet row, TableName table, String schema,
			List<String> scripts) throws SQLException {
		boolean history = row.getBoolean(5);
		String user = row.getString(1);
		return new IdempotencyConfigurationException(
				history ? "The database user '" + user + "' may not migrate the table '" + table.table()
						+ "': it cannot read its history '" + table.historyTable() + "'."
						: "The database user '" + user + "' may not create the table '" + table.table()
								+ "' in the schema '" + schema + "'.",
				(history ? "Migrate"
						: "Run GRANT USAGE, CREATE ON SCHEMA " + schema + " TO " + row.getString(2) + "; or migrate")
						+ Migrations.alternatives(scripts));
	}

	@Override
	public boolean isOfAnother(Connection connection, TableName table) throws SQLException {
		try (PreparedStatement statement = Connections.prepare(connection, OF_ANOTHER, table.schemaName(),
				table.table()); ResultSet row = statement.executeQuery()) {
			return row.next() && row.getBoolean(1);
		}
	}

	@Override
	public String database(Connection connection) throws SQLException {
		try (PreparedStatement statement = connection.prepareStatement(DATABASE);
				ResultSet row = statement.executeQuery()) {
			row.next();
			return row.getString(1);
		}
	}

	private static Array names(Connection connection, List<String> names) throws SQLException {
		return connection.createArrayOf("text", names.toArray());
	}

	/**
	 * What the user lacks.
	 *
	 * @param user the user
	 * @param what the privileges
	 * @param grants the statements that grant them
	 */
	private record Lacking(String user, String what, String grants) {

	}

}
