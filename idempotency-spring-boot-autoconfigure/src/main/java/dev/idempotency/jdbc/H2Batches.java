package dev.idempotency.jdbc;

import java.util.List;

/**
 * The statements of {@link H2Dialect} for several records: those for one, with rows of
 * arrays in the place of the request.
 */
final class H2Batches {

	private static final String REQUESTS = """
			(SELECT u.id, u.scope, u.name, CAST(? AS CHARACTER(1)) AS state, u.token, u.fp, u.lease, u.retention,
			    CURRENT_TIMESTAMP AS n
			  FROM UNNEST(CAST(? AS UUID ARRAY), CAST(? AS CHARACTER VARYING ARRAY), CAST(? AS CHARACTER VARYING ARRAY),
			    CAST(? AS UUID ARRAY), CAST(? AS BINARY VARYING ARRAY), CAST(? AS BIGINT ARRAY), CAST(? AS BIGINT ARRAY))
			    AS u(id, scope, name, token, fp, lease, retention) ORDER BY u.id) i""";

	private static final String OWNED = """
			SELECT token FROM FINAL TABLE (
			  MERGE INTO %1$s r USING (
			    SELECT u.*, CURRENT_TIMESTAMP AS n
			    FROM UNNEST(CAST(? AS UUID ARRAY), CAST(? AS UUID ARRAY)%3$s) AS u(id, token%2$s) ORDER BY u.id) i
			  ON r.id = i.id AND r.token = i.token
			""";

	private static final String COMPLETE = """
			WHEN MATCHED AND r.state IN ('P', 'C') THEN UPDATE SET state = 'C', lease_until = NULL,
			  completed_at = CASE WHEN r.state = 'P' THEN i.n ELSE r.completed_at END,
			  result = CASE WHEN r.state = 'P' THEN i.result ELSE r.result END)""";

	private static final String FAIL = """
			WHEN MATCHED AND r.state IN ('P', 'F') THEN UPDATE SET state = 'F', lease_until = NULL,
			  error_type = CASE WHEN r.state = 'P' THEN CAST(? AS CHARACTER VARYING) ELSE r.error_type END,
			  error_message = CASE WHEN r.state = 'P' THEN CAST(? AS CHARACTER VARYING) ELSE r.error_message END)""";

	private static final String RELEASE = """
			WHEN MATCHED AND r.state IN ('P', 'F') THEN UPDATE SET state = 'F', lease_until = NULL,
			  attempt = CASE WHEN r.state = 'P' THEN r.attempt - 1 ELSE r.attempt END)""";

	private static final String RENEW = """
			WHEN MATCHED AND r.state = 'P' THEN
			  UPDATE SET lease_until = DATEADD(MILLISECOND, i.lease, i.n))""";

	private static final String FAILURES = """
			(SELECT u.*, CAST(? AS CHARACTER VARYING) AS type, CAST(? AS CHARACTER VARYING) AS message,
			    CURRENT_TIMESTAMP AS n
			  FROM UNNEST(CAST(? AS UUID ARRAY), CAST(? AS CHARACTER VARYING ARRAY), CAST(? AS CHARACTER VARYING ARRAY),
			    CAST(? AS BINARY VARYING ARRAY), CAST(? AS BIGINT ARRAY)) AS u(id, scope, name, fp, retention) ORDER BY u.id) i""";

	private static final String STORE_RESULTS = """
			MERGE INTO %1$s r USING
			  (SELECT * FROM UNNEST(CAST(? AS UUID ARRAY), CAST(? AS BINARY VARYING ARRAY)) AS u(id, result)) i
			ON r.id = i.id WHEN MATCHED THEN UPDATE SET result = i.result""";

	private static final String KNOWN = "SELECT r.id FROM UNNEST(CAST(? AS UUID ARRAY)) AS u(id) JOIN %1$s r ON r.id = u.id";

	private H2Batches() {
	}

	static BatchStatements statements(TableName table) {
		return new BatchStatements(H2Dialect.claim(table, REQUESTS),
				List.of(owned(table, ", result", ", CAST(? AS BINARY VARYING ARRAY)") + COMPLETE),
				List.of(owned(table, "", "") + FAIL), List.of(owned(table, "", "") + RELEASE),
				List.of(owned(table, ", lease", ", CAST(? AS BIGINT ARRAY)") + RENEW),
				List.of("SELECT id FROM FINAL TABLE (" + H2Dialect.noteFailure(table, FAILURES) + ")"),
				STORE_RESULTS.formatted(table), KNOWN.formatted(table));
	}

	private static String owned(TableName table, String column, String array) {
		return OWNED.formatted(table, column, array);
	}

}
