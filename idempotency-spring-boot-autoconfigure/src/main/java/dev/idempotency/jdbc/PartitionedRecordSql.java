package dev.idempotency.jdbc;

import java.time.Duration;

import dev.idempotency.jdbc.RecordSql.Name;

/**
 * The statements for records in a partitioned table of PostgreSQL. No index keeps an id
 * unique there, so that claims are functions which the migrations create. All other
 * statements are those of a single table: they find a record by its id in any partition.
 */
final class PartitionedRecordSql {

	private static final String INSERT = """
			SELECT 1 FROM %1$s_claim('%2$s', :id::uuid, :scope::text, :key::text, 'C', NULL, :fingerprint::bytea, NULL,
			  :retention::bigint, :version::bigint, true)
			WHERE outcome = 'A'""";

	private static final String CLAIM = """
			SELECT outcome, fence, attempt, fingerprint, result, left_ms, decided_version
			FROM %1$s_claim('%2$s', :id::uuid, :scope::text, :key::text, :state::text::"char", :token::uuid, :fingerprint::bytea,
			  :lease::bigint, :retention::bigint, :version::bigint, false)""";

	private static final String CLAIM_ALL = """
			SELECT id, outcome, fence, attempt, fingerprint, result, left_ms, decided_version
			FROM %1$s_claim_all('%2$s', :state::text::"char", NULL, NULL, :id::uuid[], :scope::text[], :key::text[],
			  :token::uuid[], :fingerprint::bytea[], :lease::bigint[], :retention::bigint[], :version::bigint[])""";

	private static final String RESTORE = """
			SELECT 1 WHERE %1$s_restore('%2$s', :id::uuid, :scope::text, :key::text, :fence::integer, :attempt::integer,
			  :token::uuid, :fingerprint::bytea, :lease::bigint, :retention::bigint, :version::bigint)""";

	private static final String NOTE_FAILURES = """
			WITH n AS (
			  SELECT :type::text AS type, :message::text AS message, :id::uuid[] AS ids, :scope::text[] AS scopes,
			    :key::text[] AS keys, :fingerprint::bytea[] AS fps, :retention::bigint[] AS retentions,
			    :version::bigint[] AS versions)
			SELECT c.id FROM n CROSS JOIN LATERAL %1$s_claim_all('%2$s', 'F', n.type, n.message, n.ids, n.scopes, n.keys,
			  ARRAY[]::uuid[], n.fps, ARRAY[]::bigint[], n.retentions, n.versions) c
			WHERE c.outcome = 'A'""";

	// For records whose partition cannot be dropped because of other records.
	private static final String DELETE_EXPIRED = """
			WITH batch AS MATERIALIZED (
			  SELECT id FROM %1$s WHERE expires_at <= now() - :patience::bigint * interval '1 ms'
			    AND expires_at >= coalesce(:reached::timestamptz, '-infinity') AND NOT (state = 'P' AND lease_until > now())
			  ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED),
			gone AS (DELETE FROM %1$s WHERE id = ANY (ARRAY(SELECT id FROM batch)) RETURNING expires_at)
			SELECT count(*), max(expires_at) FROM gone""";

	private PartitionedRecordSql() {
	}

	static RecordSql of(TableName table, Duration lockWait) {
		String wait = lockWait.toMillis() + "ms";
		// The waits for several keys of a batch may add up.
		String batchWait = lockWait.dividedBy(4).toMillis() + "ms";
		return PostgresRecordSql.of(table, lockWait)
			.add(Name.INSERT, INSERT.formatted(table, wait))
			.add(Name.CLAIM, CLAIM.formatted(table, wait))
			.add(Name.CLAIM_KNOWN, CLAIM.formatted(table, wait))
			.add(Name.INSERT_ALL, CLAIM_ALL.formatted(table, batchWait))
			.add(Name.CLAIM_ALL, CLAIM_ALL.formatted(table, batchWait))
			.add(Name.RESTORE, RESTORE.formatted(table, wait))
			.add(Name.NOTE_FAILURES, NOTE_FAILURES.formatted(table, batchWait), NOTE_FAILURES.formatted(table, "1ms"))
			.add(Name.DELETE_EXPIRED, DELETE_EXPIRED.formatted(table));
	}

}
