package dev.idempotency.jdbc;

import dev.idempotency.jdbc.RecordSql.Name;

/**
 * The statements for records in H2. A claim is two statements, because a MERGE locks a
 * record even when it does not change it. The first one reads a record that is not free
 * and locks nothing. The second one checks again under the lock and writes. Either may
 * commit by itself: the second one decides, and a key that another transaction has
 * inserted in the meantime is an error of the statement, not of the transaction.
 * <p>
 * The time is that of the start of the statement, with {@code MODE=PostgreSQL} that of
 * the transaction. It is a little early, so that no claim is taken over too soon. The
 * exact time is in the table of sessions, which sometimes fails while other sessions
 * begin and end.
 */
final class H2RecordSql {

	private static final String INSERT = """
			SELECT id FROM FINAL TABLE (
			  INSERT INTO %1$s (id, scope, "key", state, fence, attempt, fingerprint, created_at, expires_at,
			    completed_at, version, decided_version)
			  SELECT i.id, i.scope, i.name, 'C', 1, 1, i.fp, i.n, DATEADD(MILLISECOND, i.retention, i.n), i.n, i.version, i.version
			  FROM (SELECT CAST(:id AS UUID) AS id, CAST(:scope AS CHARACTER VARYING) AS scope,
			    CAST(:key AS CHARACTER VARYING) AS name, CAST(:fingerprint AS BINARY VARYING) AS fp, CAST(:retention AS BIGINT) AS retention,
			    CAST(:version AS BIGINT) AS version, CURRENT_TIMESTAMP AS n) i)""";

	private static final String REQUEST = """
			(SELECT CAST(:id AS UUID) AS id, CAST(:scope AS CHARACTER VARYING) AS scope, CAST(:key AS CHARACTER VARYING) AS name,
			    CAST(:state AS CHARACTER(1)) AS state, CAST(:token AS UUID) AS token, CAST(:fingerprint AS BINARY VARYING) AS fp,
			    CAST(:lease AS BIGINT) AS lease, CAST(:retention AS BIGINT) AS retention, CAST(:version AS BIGINT) AS version,
			    CURRENT_TIMESTAMP AS n) i""";

	private static final String REQUESTS = """
			(SELECT u.id, u.scope, u.name, CAST(:state AS CHARACTER(1)) AS state, u.token, u.fp, u.lease, u.retention,
			    u.version, CURRENT_TIMESTAMP AS n
			  FROM UNNEST(CAST(:id AS UUID ARRAY), CAST(:scope AS CHARACTER VARYING ARRAY), CAST(:key AS CHARACTER VARYING ARRAY),
			    CAST(:token AS UUID ARRAY), CAST(:fingerprint AS BINARY VARYING ARRAY), CAST(:lease AS BIGINT ARRAY), CAST(:retention AS BIGINT ARRAY),
			    CAST(:version AS BIGINT ARRAY)) AS u(id, scope, name, token, fp, lease, retention, version) ORDER BY u.id) i""";

	private static final String FREE = """
			(CASE WHEN r.decided_version >= i.version THEN r.state = 'C' AND r.expires_at <= i.n
			      ELSE r.state = 'F' OR (r.state = 'P' AND r.lease_until <= i.n)
			        OR (r.state = 'C' AND (r.expires_at <= i.n OR i.version IS NOT NULL)) END)""";

	// The token of a claim in a transaction is null and never matches.
	private static final String OWN = "((r.state = 'P' AND r.token = i.token) IS TRUE)";

	private static final String CLAIMABLE = "(%s OR %s)".formatted(FREE, OWN);

	private static final String FIND_TAKEN = """
			SELECT r.id, r.state AS outcome, r.fence, r.attempt, r.fingerprint, r.result,
			  DATEDIFF(MILLISECOND, i.n, r.lease_until) AS left_ms, r.decided_version
			FROM %2$s JOIN %1$s r ON r.id = i.id WHERE NOT %3$s""";

	private static final String LOOK_UP = """
			SELECT CASE WHEN %3$s OR %4$s THEN 'A' ELSE r.state END AS outcome,
			  CASE WHEN %4$s OR NOT %3$s THEN r.fence ELSE r.fence + 1 END AS fence,
			  CASE WHEN %4$s OR NOT %3$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END AS attempt,
			  r.fingerprint, r.result, DATEDIFF(MILLISECOND, i.n, r.lease_until) AS left_ms, r.decided_version
			FROM %2$s JOIN %1$s r ON r.id = i.id""";

	private static final String TAKE = """
			SELECT id, 'A' AS outcome, fence, attempt FROM FINAL TABLE (
			  MERGE INTO %1$s r USING %2$s ON r.id = i.id
			  WHEN MATCHED AND %3$s THEN UPDATE SET state = i.state,
			    fence = CASE WHEN %4$s THEN r.fence ELSE r.fence + 1 END,
			    attempt = CASE WHEN %4$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END,
			    token = i.token, fingerprint = i.fp, lease_until = DATEADD(MILLISECOND, i.lease, i.n),
			    expires_at = DATEADD(MILLISECOND, i.retention, i.n), completed_at = CASE WHEN i.state = 'C' THEN i.n END,
			    version = i.version, decided_version = CASE WHEN i.state = 'C' THEN COALESCE(i.version, r.decided_version)
			      ELSE r.decided_version END,
			    result = CASE WHEN i.state = 'P' AND r.decided_version IS NOT NULL THEN r.result END,
			    error_type = NULL, error_message = NULL
			  WHEN NOT MATCHED THEN
			    INSERT (id, scope, "key", state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at, completed_at,
			      version, decided_version)
			    VALUES (i.id, i.scope, i.name, i.state, 1, 1, i.token, i.fp, DATEADD(MILLISECOND, i.lease, i.n), i.n,
			      DATEADD(MILLISECOND, i.retention, i.n), CASE WHEN i.state = 'C' THEN i.n END, i.version,
			      CASE WHEN i.state = 'C' THEN i.version END))""";

	private static final String COMPLETE = """
			UPDATE %1$s SET state = 'C', lease_until = NULL,
			  completed_at = CASE WHEN state = 'P' THEN CURRENT_TIMESTAMP ELSE completed_at END,
			  decided_version = CASE WHEN state = 'P' THEN COALESCE(version, decided_version) ELSE decided_version END,
			  result = CASE WHEN state = 'P' THEN CAST(:result AS BINARY VARYING) ELSE result END
			WHERE id = :id AND token = :token AND state IN ('P', 'C')""";

	private static final String OWNED = """
			SELECT token FROM FINAL TABLE (
			  MERGE INTO %1$s r USING (
			    SELECT u.*, CURRENT_TIMESTAMP AS n
			    FROM UNNEST(CAST(:id AS UUID ARRAY), CAST(:token AS UUID ARRAY)%3$s) AS u(id, token%2$s) ORDER BY u.id) i
			  ON r.id = i.id AND r.token = i.token
			""";

	private static final String COMPLETE_OWNED = """
			WHEN MATCHED AND r.state IN ('P', 'C') THEN UPDATE SET state = 'C', lease_until = NULL,
			  completed_at = CASE WHEN r.state = 'P' THEN i.n ELSE r.completed_at END,
			  decided_version = CASE WHEN r.state = 'P' THEN COALESCE(r.version, r.decided_version) ELSE r.decided_version END,
			  result = CASE WHEN r.state = 'P' THEN i.result ELSE r.result END)""";

	private static final String FAIL_OWNED = """
			WHEN MATCHED AND r.state IN ('P', 'F') THEN UPDATE SET state = 'F', lease_until = NULL,
			  error_type = CASE WHEN r.state = 'P' THEN CAST(:type AS CHARACTER VARYING) ELSE r.error_type END,
			  error_message = CASE WHEN r.state = 'P' THEN CAST(:message AS CHARACTER VARYING) ELSE r.error_message END)""";

	private static final String RELEASE_OWNED = """
			WHEN MATCHED AND r.state IN ('P', 'F') THEN UPDATE SET state = 'F', lease_until = NULL,
			  attempt = CASE WHEN r.state = 'P' THEN r.attempt - 1 ELSE r.attempt END)""";

	private static final String RENEW_OWNED = """
			WHEN MATCHED AND r.state = 'P' THEN
			  UPDATE SET lease_until = DATEADD(MILLISECOND, i.lease, i.n))""";

	private static final String FAILURES = """
			(SELECT u.*, CAST(:type AS CHARACTER VARYING) AS type, CAST(:message AS CHARACTER VARYING) AS message,
			    CURRENT_TIMESTAMP AS n
			  FROM UNNEST(CAST(:id AS UUID ARRAY), CAST(:scope AS CHARACTER VARYING ARRAY), CAST(:key AS CHARACTER VARYING ARRAY),
			    CAST(:fingerprint AS BINARY VARYING ARRAY), CAST(:retention AS BIGINT ARRAY), CAST(:version AS BIGINT ARRAY))
			    AS u(id, scope, name, fp, retention, version) ORDER BY u.id) i""";

	private static final String NOTE_FAILURES = """
			SELECT id FROM FINAL TABLE (
			MERGE INTO %1$s r USING %2$s
			ON r.id = i.id
			WHEN MATCHED AND %3$s THEN UPDATE SET state = 'F', fence = r.fence + 1, token = NULL, lease_until = NULL,
			  completed_at = NULL, version = i.version, result = CASE WHEN r.decided_version IS NOT NULL THEN r.result END,
			  attempt = CASE WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END, fingerprint = i.fp,
			  expires_at = DATEADD(MILLISECOND, i.retention, i.n), error_type = i.type, error_message = i.message
			WHEN NOT MATCHED THEN INSERT (id, scope, "key", state, fence, attempt, fingerprint, created_at, expires_at,
			  error_type, error_message, version)
			  VALUES (i.id, i.scope, i.name, 'F', 1, 1, i.fp, i.n, DATEADD(MILLISECOND, i.retention, i.n), i.type, i.message,
			    i.version))""";

	private static final String RESTORE = """
			MERGE INTO %1$s r USING (SELECT CAST(:id AS UUID) AS id, CAST(:scope AS CHARACTER VARYING) AS scope,
			    CAST(:key AS CHARACTER VARYING) AS name, CAST(:fence AS INTEGER) AS fence, CAST(:attempt AS INTEGER) AS attempt,
			    CAST(:token AS UUID) AS token, CAST(:fingerprint AS BINARY VARYING) AS fp, CAST(:lease AS BIGINT) AS lease,
			    CAST(:retention AS BIGINT) AS retention, CAST(:version AS BIGINT) AS version, CURRENT_TIMESTAMP AS n) i
			ON r.id = i.id
			WHEN MATCHED AND r.state = 'P' AND r.token = i.token THEN
			  UPDATE SET lease_until = DATEADD(MILLISECOND, i.lease, i.n)
			WHEN NOT MATCHED THEN
			  INSERT (id, scope, "key", state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at, version)
			  VALUES (i.id, i.scope, i.name, 'P', i.fence, i.attempt, i.token, i.fp, DATEADD(MILLISECOND, i.lease, i.n), i.n,
			    DATEADD(MILLISECOND, i.retention, i.n), i.version)""";

	private static final String STORE_RESULTS = """
			MERGE INTO %1$s r USING
			  (SELECT * FROM UNNEST(CAST(:id AS UUID ARRAY), CAST(:result AS BINARY VARYING ARRAY)) AS u(id, result)) i
			ON r.id = i.id WHEN MATCHED THEN UPDATE SET result = i.result""";

	private static final String KNOWN = "SELECT r.id FROM UNNEST(CAST(:id AS UUID ARRAY)) AS u(id) JOIN %1$s r ON r.id = u.id";

	private static final String EXPIRED = """
			expires_at <= CURRENT_TIMESTAMP AND NOT (state = 'P' AND lease_until > CURRENT_TIMESTAMP)""";

	private static final String DELETE_EXPIRED = """
			SELECT COUNT(*), MAX(expires_at) FROM OLD TABLE (DELETE FROM %1$s WHERE id IN (
			  SELECT id FROM %1$s WHERE %2$s AND expires_at <= DATEADD(MILLISECOND, -CAST(:patience AS BIGINT), CURRENT_TIMESTAMP)
			    AND expires_at >= COALESCE(CAST(:reached AS TIMESTAMP WITH TIME ZONE), expires_at)
			  ORDER BY expires_at FETCH FIRST :limit ROWS ONLY FOR UPDATE SKIP LOCKED))""";

	private static final String BACKLOG = """
			SELECT DATEDIFF(MILLISECOND, expires_at, CURRENT_TIMESTAMP)
			FROM %1$s WHERE %2$s ORDER BY expires_at FETCH FIRST ROW ONLY""";

	private H2RecordSql() {
	}

	static RecordSql of(TableName table) {
		String now = "CURRENT_TIMESTAMP";
		return new RecordSql(table, now).add(Name.INSERT, INSERT.formatted(table))
			.add(Name.CLAIM, claim(table, REQUEST))
			.add(Name.LOOK_UP, LOOK_UP.formatted(table, REQUEST, FREE, OWN))
			.add(Name.CLAIM_ALL, claim(table, REQUESTS))
			.add(Name.COMPLETE, COMPLETE.formatted(table))
			.add(Name.COMPLETE_ALL,
					owned(table, ", result", ", CAST(:result AS BINARY VARYING ARRAY)") + COMPLETE_OWNED)
			.add(Name.FAIL_ALL, owned(table, "", "") + FAIL_OWNED)
			.add(Name.RELEASE_ALL, owned(table, "", "") + RELEASE_OWNED)
			.add(Name.RENEW_ALL, owned(table, ", lease", ", CAST(:lease AS BIGINT ARRAY)") + RENEW_OWNED)
			.add(Name.RESTORE, RESTORE.formatted(table))
			.add(Name.NOTE_FAILURES, NOTE_FAILURES.formatted(table, FAILURES, FREE))
			.add(Name.STORE_RESULTS, STORE_RESULTS.formatted(table))
			.add(Name.KNOWN, KNOWN.formatted(table))
			.add(Name.DELETE_EXPIRED, DELETE_EXPIRED.formatted(table, EXPIRED))
			.add(Name.BACKLOG, BACKLOG.formatted(table, EXPIRED))
			.add(Name.RELEASE_BY_OPERATOR,
					(RecordSql.OPERATOR_RELEASE + " WHERE " + RecordSql.RELEASABLE).formatted(table, now))
			.add(Name.EVICT, ("DELETE FROM %1$s WHERE " + RecordSql.EVICTABLE).formatted(table, now));
	}

	private static String[] claim(TableName table, String requests) {
		return new String[] { FIND_TAKEN.formatted(table, requests, CLAIMABLE),
				TAKE.formatted(table, requests, CLAIMABLE, OWN) };
	}

	private static String owned(TableName table, String column, String array) {
		return OWNED.formatted(table, column, array);
	}

}
