/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The catalog of PostgreSQL. It needs no privilege, because it finds objects by the text
 * of their names: PostgreSQL refuses a name in a statement, or a regclass, if the user
 * may not use the schema.
 */
final class PostgresCatalog extends Catalog {

	private static final String PARTITIONED = "dev/idempotency/jdbc/postgresql-partitioned";

	// A BEFORE INSERT trigger may set any column.
	private static final String COLUMNS = """
			SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
			  a.atthasdef OR a.attidentity <> '' OR EXISTS (SELECT FROM pg_trigger t
			    WHERE t.tgrelid = c.oid AND t.tgtype & 7 = 7 AND t.tgenabled IN ('O', 'A'))
			FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
			WHERE n.nspname = :schema AND c.relname = ANY (:names) AND c.relkind IN ('r', 'p', 'v', 'f')
			  AND a.attnum > 0 AND NOT a.attisdropped""";

	// A partitioned table needs the index on each partition: a function looks for a key
	// in all of them.
	private static final String UNIQUE = """
			SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = :schema AND c.relname = :name AND NOT EXISTS (
			  SELECT FROM (SELECT c.oid WHERE c.relkind <> 'p'
			    UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid AND c.relkind = 'p') AS part(oid)
			  WHERE NOT EXISTS (SELECT FROM pg_index i
			    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
			    WHERE i.indrelid = part.oid AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL
			      AND i.indnkeyatts = 1 AND a.attname = :column))""";

	// Each row is a part of the message and the statement that grants the privilege.
	// A privilege on any column is enough: the administrator has chosen the columns.
	private static final String PRIVILEGES = """
			WITH s AS (SELECT n.oid, n.nspname FROM pg_namespace n WHERE n.nspname = :schema),
			lacking AS (
			  SELECT 1 AS place, 0::bigint AS number, 'USAGE' AS privileges, format('SCHEMA %I', s.nspname) AS object
			  FROM s WHERE NOT has_schema_privilege(s.oid, 'USAGE')
			  UNION ALL
			  SELECT 2, min(w.number), string_agg(w.privilege, ', ' ORDER BY w.number), format('%I.%I', s.nspname, c.relname)
			  FROM unnest(:objects::text[], :privileges::text[]) WITH ORDINALITY AS w(name, privilege, number) CROSS JOIN s
			    JOIN pg_class c ON c.relnamespace = s.oid AND c.relname = w.name
			  WHERE NOT CASE w.privilege WHEN 'DELETE' THEN has_table_privilege(c.oid, w.privilege)
			    ELSE has_any_column_privilege(c.oid, w.privilege) END GROUP BY s.nspname, c.relname
			  UNION ALL
			  SELECT 3, 0, 'EXECUTE', format('FUNCTION %I.%I(%s)', s.nspname, p.proname, oidvectortypes(p.proargtypes))
			  FROM s JOIN pg_proc p ON p.pronamespace = s.oid
			  WHERE p.proname = ANY (:functions) AND NOT has_function_privilege(p.oid, 'EXECUTE'))
			SELECT current_user, string_agg(privileges || ' on ' || object, '; ' ORDER BY place, number, object),
			  string_agg('GRANT ' || privileges || ' ON ' || object || ' TO ' || quote_ident(current_user) || ';', ' '
			    ORDER BY place, number, object)
			FROM lacking HAVING count(*) > 0""";

	private static final String MAINTENANCE = """
			WITH t AS (SELECT c.oid, c.relowner, n.oid AS schema, n.nspname
			  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = :schema AND c.relname = :name),
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
			SELECT current_user, quote_ident(current_user), n.oid IS NOT NULL AS has_schema,
			  coalesce(has_schema_privilege(n.oid, 'USAGE') AND CASE WHEN h.oid IS NULL THEN has_schema_privilege(n.oid, 'CREATE')
			    ELSE has_table_privilege(h.oid, 'SELECT') END, FALSE) AS sufficient, h.oid IS NOT NULL AS has_history
			FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = :schema
			  LEFT JOIN pg_class h ON h.relnamespace = n.oid AND h.relname = :history""";

	private static final String DATABASE = """
			SELECT current_database() || ' ' || extract(epoch FROM pg_postmaster_start_time())""";

	private static final List<String> FUNCTIONS = List.of("add", "claim", "claim_all", "drop_dead", "free", "restore",
			"rotate", "take");

	private static final String KIND = """
			SELECT c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = :schema AND c.relname = :name""";

	private static final String MISSING_FUNCTIONS = """
			SELECT string_agg(f.name, ', ' ORDER BY f.name) FROM unnest(:functions::text[]) AS f(name)
			WHERE NOT EXISTS (SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			  WHERE n.nspname = :schema AND p.proname = f.name)""";

	// The functions contain the schema as text: after it is renamed, or copied under
	// another name, they would use the tables of another schema.
	private static final String OTHER_SCHEMA = """
			SELECT btrim(m.match[2], '"') FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
			  CROSS JOIN LATERAL regexp_matches(p.prosrc, '(^|[^.A-Za-z0-9_])("[^"]+"|[A-Za-z_][A-Za-z0-9_]*)[.]' || :name, 'g') AS m(match)
			WHERE n.nspname = :schema AND p.proname = ANY (:functions) AND btrim(m.match[2], '"') <> :schema LIMIT 1""";

	private final Layout layout;

	PostgresCatalog(Layout layout) {
		super((layout == Layout.PARTITIONED) ? PARTITIONED : "dev/idempotency/jdbc/postgresql", COLUMNS, UNIQUE,
				DATABASE, ValueTypes.STANDARD);
		this.layout = layout;
	}

	// The names of the table and of its functions, which only a partitioned table has.
	private Parameters functions(TableName table) {
		Stream<String> names = (this.layout == Layout.PARTITIONED) ? FUNCTIONS.stream() : Stream.empty();
		return name(table).with("functions", "text", names.map((name) -> table.table() + "_" + name).toArray());
	}

	@Override
	@Nullable String schema(Connection connection, TableName table) throws SQLException {
		return ask(connection, """
				SELECT coalesce((SELECT n.nspname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
				  WHERE c.oid = to_regclass(:name)), current_schema())""", name(table));
	}

	@Override
	void requireLayout(Connection connection, TableName table) throws SQLException {
		// A character that another encoding lacks would look like an outage.
		String encoding = ask(connection, "SHOW server_encoding", Parameters.none());
		IdempotencyConfigurationException.check("UTF8".equals(encoding),
				"The database of the idempotency store has the encoding " + encoding + ".",
				"Use a database with the encoding UTF8.");
		Layout found = "p".equals(ask(connection, KIND, name(table))) ? Layout.PARTITIONED : Layout.SINGLE;
		IdempotencyConfigurationException.check(found == this.layout,
				"'idempotency.jdbc.layout' is '" + property(this.layout) + "', but the idempotency table '"
						+ table.table() + ((found == Layout.SINGLE) ? "' is not partitioned." : "' is partitioned."),
				"Set 'idempotency.jdbc.layout' to '" + property(found) + "'. Or name a table that does not exist, and "
						+ "move the keys to it with 'migrate-from'.");
		String missing = ask(connection, MISSING_FUNCTIONS, functions(table));
		IdempotencyConfigurationException.check(missing == null,
				"The idempotency table '" + table.table() + "' lacks the functions " + missing + ".",
				"Run the statements of the script in '" + PARTITIONED + "' that create them.");
		String other = ask(connection, OTHER_SCHEMA, functions(table));
		IdempotencyConfigurationException.check(other == null,
				"The idempotency table '" + table.table() + "' is in the schema '" + table.schemaName()
						+ "', but its functions use the schema '" + other + "'.",
				"Drop the functions, and run the statements of the script in '" + PARTITIONED
						+ "' that create them, with the schema of the table.");
	}

	private static String property(Layout layout) {
		return layout.name().toLowerCase(Locale.ROOT);
	}

	@Override
	void requirePrivileges(Connection connection, TableName table, List<RequiredTable> tables) throws SQLException {
		List<String> objects = new ArrayList<>();
		List<String> privileges = new ArrayList<>();
		tables.forEach((required) -> required.privileges().forEach((privilege) -> {
			objects.add(required.name());
			privileges.add(privilege);
		}));
		first(connection, PRIVILEGES, functions(table).with("objects", "text", objects.toArray())
			.with("privileges", "text", privileges.toArray()), (row) -> {
				throw new IdempotencyConfigurationException("The database user '" + row.getString(1)
						+ "' lacks privileges that the idempotency store or the outbox needs: " + row.getString(2)
						+ ".", "Run this as the owner of the table: " + row.getString(3));
			});
	}

	@Override
	void requireMaintenance(Connection connection, TableName table) throws SQLException {
		first(connection, MAINTENANCE, name(table), (row) -> {
			throw new IdempotencyConfigurationException(
					"The database user '" + row.getString(1) + "' cannot create and drop partitions of '"
							+ table.table() + "': it lacks " + row.getString(2) + ".",
					"Run this as the owner of the table: " + row.getString(3)
							+ " Or set 'idempotency.cleanup.enabled' to 'false' here, and let an instance with the "
							+ "owner's user clean up.");
		});
	}

	// Without the privilege, Flyway tries for seconds to create its history table.
	@Override
	void requireMigration(Connection connection, TableName table, String scripts) throws SQLException {
		first(connection, MIGRATION, name(table).with("history", table.historyTable()), (row) -> {
			String user = row.getString(1);
			String quotedUser = row.getString(2);
			String schema = table.schemaName();
			IdempotencyConfigurationException.check(schema != null,
					"The database user '" + user + "' has no schema for the table '" + table + "'.",
					"Run GRANT USAGE, CREATE on a schema of its search path TO " + quotedUser
							+ "; or put the schema before the name of the table.");
			IdempotencyConfigurationException.check(row.getBoolean("has_schema"),
					"The schema '" + schema + "' of the table '" + table + "' does not exist.",
					"Create it with CREATE SCHEMA " + table.schema() + ", or correct the name of the table.");
			if (row.getBoolean("sufficient")) {
				return true;
			}
			throw row.getBoolean("has_history")
					? new IdempotencyConfigurationException(
							"The database user '" + user + "' may not migrate the table '" + table.table()
									+ "': it cannot read its history '" + table.historyTable() + "'.",
							"Migrate" + otherWaysToMigrate(scripts))
					: new IdempotencyConfigurationException(
							"The database user '" + user + "' may not create the table '" + table.table()
									+ "' in the schema '" + schema + "'.",
							"Run GRANT USAGE, CREATE ON SCHEMA " + schema + " TO " + quotedUser + "; or migrate"
									+ otherWaysToMigrate(scripts));
		});
	}

}
