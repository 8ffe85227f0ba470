package dev.idempotency.jdbc;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * The statements of {@link PostgresDialect} for a partitioned table, where no index keeps
 * an id unique: claims are functions of the migration. All others find a record by its id
 * in whatever partition it is.
 */
final class PostgresPartitions {

	private static final String MIGRATE = "Set 'idempotency.jdbc.schema' to 'migrate', or run the scripts in "
			+ "'dev/idempotency/jdbc/postgresql-partitioned' yourself.";

	private static final String CONVERT = "Set 'idempotency.jdbc.layout' to 'single'. Or convert the table, which cannot be "
			+ "undone: set 'idempotency.jdbc.schema' to 'migrate' and 'idempotency.jdbc.convert' to 'true', or run the "
			+ "scripts in 'dev/idempotency/jdbc/postgresql-partitioned' yourself.";

	private static final String INSERT = """
			SELECT 1 FROM %1$s_claim('%2$s', ?::uuid, ?::text, ?::text, 'C', NULL, ?::bytea, NULL, ?::bigint, true)
			WHERE outcome = 'A'""";

	private static final String CLAIM = """
			SELECT outcome, fence, attempt, fingerprint, result, left_ms
			FROM %1$s_claim('%2$s', ?::uuid, ?::text, ?::text, ?::text::"char", ?::uuid, ?::bytea, ?::bigint, ?::bigint, false)""";

	private static final String CLAIM_ALL = """
			SELECT id, outcome, fence, attempt, fingerprint, result, left_ms
			FROM %1$s_claim_all('%2$s', ?::text::"char", NULL, NULL, ?::uuid[], ?::text[], ?::text[], ?::uuid[], ?::bytea[],
			  ?::bigint[], ?::bigint[])""";

	private static final String RESTORE = """
			SELECT 1 WHERE %1$s_restore('%2$s', ?::uuid, ?::text, ?::text, ?::integer, ?::integer, ?::uuid, ?::bytea, ?::bigint,
			  ?::bigint)""";

	private static final String NOTE_FAILURE = """
			WITH n AS (
			  SELECT ?::uuid AS id, ?::text AS scope, ?::text AS key, ?::bytea AS fp, ?::bigint AS retention, ?::text AS type,
			    ?::text AS message)
			SELECT c.id FROM n CROSS JOIN LATERAL %1$s_claim_all('%2$s', 'F', n.type, n.message, ARRAY[n.id], ARRAY[n.scope],
			  ARRAY[n.key], ARRAY[NULL]::uuid[], ARRAY[n.fp], ARRAY[NULL]::bigint[], ARRAY[n.retention]) c
			WHERE c.outcome = 'A'""";

	private static final String NOTE_FAILURES = """
			WITH n AS (
			  SELECT ?::text AS type, ?::text AS message, ?::uuid[] AS ids, ?::text[] AS scopes, ?::text[] AS keys, ?::bytea[] AS fps,
			    ?::bigint[] AS retentions)
			SELECT c.id FROM n CROSS JOIN LATERAL %1$s_claim_all('%2$s', 'F', n.type, n.message, n.ids, n.scopes, n.keys,
			  ARRAY[]::uuid[], n.fps, ARRAY[]::bigint[], n.retentions) c
			WHERE c.outcome = 'A'""";

	// A record goes with its partition. These are in one that others keep alive.
	private static final String DELETE_EXPIRED = """
			WITH batch AS MATERIALIZED (
			  SELECT id FROM %1$s WHERE expires_at <= now() - ?::bigint * interval '1 ms'
			    AND expires_at >= coalesce(?::timestamptz, '-infinity') AND NOT (state = 'P' AND lease_until > now())
			  ORDER BY expires_at LIMIT ? FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE id = ANY (ARRAY(SELECT id FROM batch)) RETURNING expires_at)
			SELECT count(*), max(expires_at) FROM gone""";

	/**
	 * The version of the migration that creates all functions as they are called here.
	 */
	static final int VERSION = 1001;

	// An earlier script may have made one of the same name, with other arguments.
	private static final Map<String, Integer> FUNCTIONS = Map.of("free", 3, "add", 14, "take", 13, "claim", 10,
			"claim_all", 11, "restore", 10, "rotate", 1, "drop_dead", 0);

	static final String MISSING_FUNCTIONS = """
			SELECT string_agg(t.relname || '_' || f.name, ', ' ORDER BY f.name)
			FROM pg_class t CROSS JOIN (VALUES %s) AS f(name, arguments)
			WHERE t.oid = ?::regclass AND NOT EXISTS (
			  SELECT FROM pg_proc p WHERE p.pronamespace = t.relnamespace AND p.proname = t.relname || '_' || f.name
			    AND p.pronargs = f.arguments)""".formatted(FUNCTIONS.entrySet()
		.stream()
		.map((function) -> "('" + function.getKey() + "', " + function.getValue() + ")")
		.collect(Collectors.joining(", ")));

	private PostgresPartitions() {
	}

	static List<String> functions(TableName table) {
		return FUNCTIONS.keySet().stream().map((name) -> table.table() + "_" + name).toList();
	}

	static void check(Layout layout, TableName table, boolean partitioned, @Nullable String missingFunctions) {
		if (layout == Layout.SINGLE && partitioned) {
			throw new IdempotencyConfigurationException(
					"The idempotency table '" + table + "' is partitioned, but 'idempotency.jdbc.layout' is 'single'.",
					"Set 'idempotency.jdbc.layout' to 'partitioned'.");
		}
		if (layout == Layout.PARTITIONED && !partitioned) {
			throw new IdempotencyConfigurationException(
					"'idempotency.jdbc.layout' is 'partitioned', but the idempotency table '" + table + "' is not.",
					CONVERT);
		}
		if (layout == Layout.PARTITIONED && missingFunctions != null) {
			throw new IdempotencyConfigurationException(
					"The idempotency table '" + table + "' lacks the functions " + missingFunctions + ".", MIGRATE);
		}
	}

	static Statements statements(TableName table, String wait, String batchWait, Statements single) {
		return new Statements(INSERT.formatted(table, wait), List.of(CLAIM.formatted(table, wait)), single.complete(),
				single.storeResult(), single.fail(), NOTE_FAILURE.formatted(table, wait), single.release(),
				single.renew(), RESTORE.formatted(table, wait), batches(table, batchWait, single.batches()),
				single.find(), DELETE_EXPIRED.formatted(table));
	}

	private static BatchStatements batches(TableName table, String wait, BatchStatements single) {
		return new BatchStatements(List.of(CLAIM_ALL.formatted(table, wait)), single.complete(), single.fail(),
				single.release(), single.renew(),
				List.of(NOTE_FAILURES.formatted(table, wait), NOTE_FAILURES.formatted(table, "1ms")),
				single.storeResults(), single.known());
	}

}
