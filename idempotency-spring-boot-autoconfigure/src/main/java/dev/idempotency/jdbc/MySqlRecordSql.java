package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.function.Function;

import dev.idempotency.jdbc.RecordSql.Name;

/**
 * The statements for records in MariaDB and MySQL. A claim is an insert that takes over
 * an existing record if it is free. MariaDB returns the row with the same statement, and
 * MySQL with a second one. An update of claims changes only those that are in progress,
 * and a second statement finds the others if there are any. No statement depends on
 * whether the driver counts found or changed rows.
 * <p>
 * The database evaluates the assignments of {@code ON DUPLICATE KEY UPDATE} one after the
 * other, with the values that the earlier ones have set. {@code token} is therefore set
 * after the columns that depend on the old state, and shows those after it whether the
 * record is taken over. A claim in a transaction has a mark of its own as its token, by
 * which the transaction recognizes it.
 * <p>
 * The time is the start of the statement in UTC: a little early after a wait for a lock,
 * so that no claim is taken over too soon.
 */
final class MySqlRecordSql {

	private static final String NOW = "UTC_TIMESTAMP(6)";

	// The version that completed last keeps lower ones out for its retention, whatever
	// the state is, and lets a higher one in.
	private static final String FREE = """
			(CASE WHEN decided_version >= %1$s THEN state = 'C' AND expires_at <= UTC_TIMESTAMP(6)
			      ELSE state = 'F' OR (state = 'P' AND lease_until <= UTC_TIMESTAMP(6))
			        OR (state = 'C' AND (expires_at <= UTC_TIMESTAMP(6) OR %1$s IS NOT NULL)) END)""";

	private static final String FREE_FOR = FREE.formatted(":version");

	// RETURNING does not know the requested version.
	private static final String FREE_WITHOUT_VERSION = "(decided_version IS NULL AND " + FREE.formatted("NULL") + ")";

	private static final String OWN = "(state = 'P' AND token <=> VALUES(token))";

	// The owner of a completed claim may repeat its claim.
	private static final String TAKEN = """
			(token <=> VALUES(token)
			      AND NOT (VALUES(state) = 'P' AND state = 'C' AND expires_at > UTC_TIMESTAMP(6)
			        AND (VALUES(version) IS NULL OR COALESCE(decided_version >= VALUES(version), FALSE))))""";

	private static final String COLUMNS = """
			(id, scope, `key`, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at, completed_at,
			  error_type, error_message, version, decided_version)""";

	// The state that is set decides whether a record is taken, so 'expires_at' is last.
	private static final String TAKE_OVER = """
			ON DUPLICATE KEY UPDATE
			  fence = CASE WHEN %2$s THEN fence WHEN %1$s THEN fence + 1 ELSE fence END,
			  attempt = CASE WHEN %2$s THEN attempt WHEN %1$s AND state = 'C' THEN 1 WHEN %1$s THEN attempt + 1
			    ELSE attempt END,
			  token = CASE WHEN %2$s OR %1$s THEN VALUES(token) ELSE token END,
			  fingerprint = IF(%3$s, VALUES(fingerprint), fingerprint),
			  result = IF(%3$s AND (VALUES(state) = 'C' OR decided_version IS NULL), NULL, result),
			  version = IF(%3$s, VALUES(version), version),
			  decided_version = IF(%3$s, COALESCE(VALUES(decided_version), decided_version), decided_version),
			  error_type = IF(%3$s, VALUES(error_type), error_type),
			  error_message = IF(%3$s, VALUES(error_message), error_message),
			  completed_at = IF(%3$s, VALUES(completed_at), completed_at),
			  lease_until = IF(%3$s, VALUES(lease_until), lease_until), state = IF(%3$s, VALUES(state), state),
			  expires_at = IF(%3$s, VALUES(expires_at), expires_at)""".formatted(FREE.formatted("VALUES(version)"), OWN,
			TAKEN);

	private static final String INSERT = """
			INSERT INTO %1$s (id, scope, `key`, state, fence, attempt, token, fingerprint, created_at, expires_at, completed_at,
			  version, decided_version)
			VALUES (:id, :scope, :key, 'C', 1, 1, :mark, :fingerprint, UTC_TIMESTAMP(6),
			  UTC_TIMESTAMP(6) + INTERVAL :retention * 1000 MICROSECOND, UTC_TIMESTAMP(6), :version, :version)""";

	private static final String CLAIM = "INSERT INTO %1$s " + COLUMNS
			+ """

					VALUES (:id, :scope, :key, :state, 1, 1, COALESCE(:token, :mark), :fingerprint,
					  UTC_TIMESTAMP(6) + INTERVAL :lease * 1000 MICROSECOND, UTC_TIMESTAMP(6),
					  UTC_TIMESTAMP(6) + INTERVAL :retention * 1000 MICROSECOND, IF(:state = 'C', UTC_TIMESTAMP(6), NULL), NULL, NULL,
					  :version, IF(:state = 'C', :version, NULL))
					"""
			+ TAKE_OVER;

	private static final String LEFT = "CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lease_until) / 1000) AS left_ms";

	// In the answer of a second statement, another transaction may have interfered.
	private static final String ANSWER = """
			CASE WHEN %1$s AND state = :state THEN 'A' WHEN %2$s THEN 'R' ELSE state END AS outcome,
			  fence, attempt, fingerprint, result, %3$s, decided_version""";

	private static final String TAKEN_NOW = "token = COALESCE(:token, :mark)";

	// RETURNING knows only the columns of the table.
	private static final String ALL_TAKEN_NOW = "(token = :mark OR LOCATE(token, :tokens) > 0)";

	private static final String READ = """
			SELECT state AS outcome, fence, attempt, fingerprint, result, %2$s, decided_version FROM %1$s
			WHERE id = :id AND NOT (%3$s OR (state = 'P' AND token <=> :token))""";

	private static final String LOOK_UP = """
			SELECT CASE WHEN %3$s OR %4$s THEN 'A' ELSE state END AS outcome,
			  CASE WHEN %4$s OR NOT %3$s THEN fence ELSE fence + 1 END AS fence,
			  CASE WHEN %4$s OR NOT %3$s THEN attempt WHEN state = 'C' THEN 1 ELSE attempt + 1 END AS attempt,
			  fingerprint, result, %2$s, decided_version
			FROM %1$s WHERE id = :id""";

	// The database would replace a value that is too long by NULL.
	private static final String KEYS = """
			JSON_TABLE(:rows, '$[*]' COLUMNS (
			    k_id CHAR(32) CHARACTER SET ascii PATH '$.id' ERROR ON ERROR,
			    k_token CHAR(32) CHARACTER SET ascii PATH '$.token' ERROR ON ERROR,
			    k_scope VARCHAR(512) CHARACTER SET utf8mb4 PATH '$.scope' ERROR ON ERROR,
			    k_key VARCHAR(512) CHARACTER SET utf8mb4 PATH '$.key' ERROR ON ERROR,
			    k_fp VARCHAR(340) CHARACTER SET ascii PATH '$.fingerprint' ERROR ON ERROR,
			    k_lease BIGINT PATH '$.lease' ERROR ON ERROR,
			    k_retention BIGINT PATH '$.retention' ERROR ON ERROR,
			    k_version BIGINT PATH '$.version' ERROR ON ERROR)) k""";

	private static final String CLAIM_ALL = "INSERT INTO %1$s " + COLUMNS
			+ """

					SELECT UNHEX(k_id), k_scope, k_key, :state, 1, 1, COALESCE(UNHEX(k_token), :mark), FROM_BASE64(k_fp),
					  UTC_TIMESTAMP(6) + INTERVAL k_lease * 1000 MICROSECOND, UTC_TIMESTAMP(6),
					  UTC_TIMESTAMP(6) + INTERVAL k_retention * 1000 MICROSECOND, IF(:state = 'C', UTC_TIMESTAMP(6), NULL), NULL, NULL,
					  k_version, IF(:state = 'C', k_version, NULL)
					FROM\s"""
			+ KEYS + "\n" + TAKE_OVER;

	// Statistics that are not up to date would lead to a scan, which locks each row.
	private static final String BY_ID = "STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = UNHEX(k_id)";

	private static final String IDS = """
			JSON_TABLE(:owned, '$[*]' COLUMNS (
			    k_id CHAR(32) CHARACTER SET ascii PATH '$.id' ERROR ON ERROR,
			    k_token CHAR(32) CHARACTER SET ascii PATH '$.token' ERROR ON ERROR%s)) k
			""";

	private static final String RESULTS = """
			,
			    k_result LONGTEXT CHARACTER SET ascii PATH '$.result' ERROR ON ERROR""";

	private static final String LEASES = """
			,
			    k_lease BIGINT PATH '$.lease' ERROR ON ERROR""";

	private static final String COMPLETE = "state = 'C', lease_until = NULL, completed_at = UTC_TIMESTAMP(6), "
			+ "decided_version = COALESCE(version, decided_version), result = ";

	private static final String FAIL = "state = 'F', lease_until = NULL, error_type = :type, error_message = :message";

	private static final String RELEASE = "state = 'F', lease_until = NULL, attempt = attempt - 1";

	private static final String RENEW = """
			lease_until = UTC_TIMESTAMP(6) + INTERVAL k_lease * 1000 MICROSECOND,
			  expires_at = GREATEST(expires_at, UTC_TIMESTAMP(6) + INTERVAL k_lease * 1000 MICROSECOND)""";

	private static final String RESTORE = """
			INSERT INTO %1$s (id, scope, `key`, state, fence, attempt, token, fingerprint, lease_until, created_at, expires_at,
			  version)
			VALUES (:id, :scope, :key, 'P', :fence, :attempt, :token, :fingerprint,
			  UTC_TIMESTAMP(6) + INTERVAL :lease * 1000 MICROSECOND, UTC_TIMESTAMP(6),
			  UTC_TIMESTAMP(6) + INTERVAL :retention * 1000 MICROSECOND, :version)
			ON DUPLICATE KEY UPDATE
			  lease_until = IF(%2$s, VALUES(lease_until), lease_until),
			  expires_at = IF(%2$s, GREATEST(expires_at, VALUES(lease_until)), expires_at)""";

	private static final String NOTE_FAILURES = "INSERT INTO %1$s " + COLUMNS + """

			SELECT UNHEX(k_id), k_scope, k_key, 'F', 1, 1, :mark, FROM_BASE64(k_fp), NULL, UTC_TIMESTAMP(6),
			  UTC_TIMESTAMP(6) + INTERVAL k_retention * 1000 MICROSECOND, NULL, :type, :message, k_version, NULL
			FROM\s""" + KEYS + "\n" + TAKE_OVER;

	private static final String EXPIRED = """
			expires_at <= UTC_TIMESTAMP(6) AND NOT (state = 'P' AND lease_until > UTC_TIMESTAMP(6))""";

	// Deleted rows leave the index soon, so each batch begins at the first row.
	private static final String DELETE_EXPIRED = """
			DELETE r FROM (SELECT id FROM %1$s WHERE %2$s
			    AND expires_at <= UTC_TIMESTAMP(6) - INTERVAL :patience * 1000 MICROSECOND
			    AND expires_at >= COALESCE(:reached, expires_at)
			  ORDER BY expires_at LIMIT :limit FOR UPDATE SKIP LOCKED) e
			STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = e.id""";

	private static final String DELETED = "SELECT ROW_COUNT() AS deleted, CAST(NULL AS DATETIME(6)) AS last";

	private static final String BACKLOG = """
			SELECT TIMESTAMPDIFF(MICROSECOND, expires_at, UTC_TIMESTAMP(6)) DIV 1000
			FROM %1$s WHERE %2$s ORDER BY expires_at LIMIT 1""";

	private static final String EVICT_ALL = """
			DELETE r FROM (SELECT r.id FROM %2$s""" + BY_ID + """

			  WHERE state <> 'P' OR lease_until <= UTC_TIMESTAMP(6) OR :force %3$s SKIP LOCKED) e
			STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = e.id""";

	private static final String ESTIMATE = """
			SELECT CAST(TABLE_ROWS AS SIGNED) FROM information_schema.TABLES
			WHERE CONCAT('`', TABLE_SCHEMA, '`.', TABLE_NAME) = :table OR CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) = :table""";

	private final String table;

	private final boolean returning;

	// MySQL wants to lock the rows of JSON_TABLE, too.
	private final String locking;

	// Limits the time of a statement.
	private final MySqlLimit limit;

	private final MySqlLimit shortLimit;

	private final RecordSql sql;

	private MySqlRecordSql(String table, boolean mariaDb, Duration lockWait) {
		this.table = table;
		this.returning = mariaDb;
		this.locking = mariaDb ? "FOR UPDATE" : "FOR UPDATE OF r";
		// A busy server may be slow without a lock. The driver of MySQL needs more time
		// for a cancellation.
		this.limit = MySqlLimit.of(mariaDb, mariaDb ? lockWait.multipliedBy(3).dividedBy(2) : lockWait);
		this.shortLimit = MySqlLimit.of(mariaDb, lockWait.dividedBy(4));
		this.sql = new RecordSql(table, NOW, "`key`", "CHAR", MySqlTypes.INSTANCE);
	}

	static RecordSql of(TableName table, boolean mariaDb, Duration lockWait) {
		MySqlRecordSql statements = new MySqlRecordSql(table.withBackticks(), mariaDb, lockWait);
		statements.addClaims();
		statements.addSettlements();
		statements.addFailures();
		statements.addOthers();
		return statements.sql;
	}

	private void addClaims() {
		String answer = ANSWER.formatted(TAKEN_NOW, FREE_FOR, LEFT);
		this.sql.add(Name.CLAIM, returning(CLAIM.formatted(this.table), answer));
		this.sql.add(Name.CLAIM_ALL,
				returningAll(this.limit, CLAIM_ALL.formatted(this.table),
						"id, " + ANSWER.formatted(ALL_TAKEN_NOW, FREE_WITHOUT_VERSION, LEFT), "r.id, " + ANSWER
							.formatted("token = COALESCE(UNHEX(k_token), :mark)", FREE.formatted("k_version"), LEFT)));
		this.sql.add(Name.READ, this.sql.statement(READ.formatted(this.table, LEFT, FREE_FOR)));
		this.sql.add(Name.LOOK_UP, this.sql
			.statement(LOOK_UP.formatted(this.table, LEFT, FREE_FOR, "(state = 'P' AND token <=> :token)")));
		// The driver of MariaDB logs a warning for each duplicate key.
		this.sql.add(Name.INSERT,
				this.returning
						? telling(this.limit.statement(INSERT.formatted(this.table)
								+ " ON DUPLICATE KEY UPDATE id = VALUES(id) RETURNING token = :mark"))
						: this.limit.statement(INSERT.formatted(this.table)));
		this.sql.add(Name.STORE_RESULTS, limited("UPDATE " + IDS.formatted(RESULTS) + BY_ID.formatted(this.table)
				+ " SET result = FROM_BASE64(k_result)"));
		this.sql.add(Name.WRITTEN, this.sql
			.statement("SELECT 1 FROM %1$s WHERE id = :id AND token = :token AND state = 'C'".formatted(this.table)));
	}

	private void addSettlements() {
		this.sql.add(Name.COMPLETE,
				limited("UPDATE " + this.table + " SET " + COMPLETE + ":result"
						+ " WHERE id = :id AND token = :token AND state = 'P'")
					.confirmedBy(this.sql.statement(
							"SELECT 1 FROM " + this.table + " WHERE id = :id AND token = :token AND state = 'C'")));
		settlements(Name.COMPLETE_ALL, RESULTS, "'C'", COMPLETE + "FROM_BASE64(k_result)");
		settlements(Name.FAIL_ALL, "", "'F'", FAIL);
		settlements(Name.RELEASE_ALL, "", "'F'", RELEASE);
		settlements(Name.RENEW_ALL, LEASES, "'P'", RENEW);
		this.sql.add(Name.KNOWN,
				this.sql.statement("SELECT r.id FROM " + IDS.formatted("") + BY_ID.formatted(this.table)));
	}

	// The second statement skips records that are locked.
	private void settlements(Name name, String columns, String state, String changes) {
		String claims = IDS.formatted(columns) + BY_ID.formatted(this.table) + " AND token = UNHEX(k_token)";
		SqlStatement settled = this.sql.statement("SELECT token FROM " + claims + " WHERE state = " + state);
		String free = "UPDATE (SELECT r.id AS held FROM " + IDS.formatted("") + BY_ID.formatted(this.table)
				+ " AND token = UNHEX(k_token) WHERE state = 'P' " + this.locking + " SKIP LOCKED) h STRAIGHT_JOIN "
				+ IDS.formatted(columns) + "ON UNHEX(k_id) = held STRAIGHT_JOIN " + this.table
				+ " r FORCE INDEX (PRIMARY) ON r.id = held SET " + changes + " WHERE state = 'P'";
		this.sql.add(name, limited("UPDATE " + claims + " SET " + changes + " WHERE state = 'P'").confirmedBy(settled),
				limited(free).answeredBy(settled));
	}

	private void addFailures() {
		this.sql.add(Name.RESTORE, confirmed(RESTORE.formatted(this.table, OWN), "state = 'P' AND token = :token"));
		Function<MySqlLimit, SqlStatement> failures = (limit) -> returningAll(limit,
				NOTE_FAILURES.formatted(this.table), "IF(token <=> :mark, id, NULL) AS id",
				"IF(token <=> :mark, r.id, NULL) AS id");
		this.sql.add(Name.NOTE_FAILURES, failures.apply(this.limit), failures.apply(this.shortLimit));
	}

	private void addOthers() {
		this.sql.add(Name.DELETE_EXPIRED, this.sql.statement(DELETE_EXPIRED.formatted(this.table, EXPIRED))
			.answeredBy(this.sql.statement(DELETED)));
		this.sql.add(Name.BACKLOG, BACKLOG.formatted(this.table, EXPIRED));
		this.sql.add(Name.ESTIMATE, ESTIMATE);
		this.sql.add(Name.RELEASE_BY_OPERATOR,
				limited((RecordSql.OPERATOR_RELEASE + " WHERE " + RecordSql.RELEASABLE).formatted(this.table, NOW))
					.confirmedBy(this.sql
						.statement("SELECT 1 FROM %s WHERE id = :id AND state = 'F'".formatted(this.table))));
		this.sql.add(Name.EVICT, limited(("DELETE FROM %1$s WHERE " + RecordSql.EVICTABLE).formatted(this.table, NOW)));
		this.sql.add(Name.FIND_ALL, this.sql
			.statement("SELECT " + RecordSql.RECORD + " FROM " + IDS.formatted("") + BY_ID.formatted(this.table)));
		this.sql.add(Name.EVICT_ALL, EVICT_ALL.formatted(this.table, IDS.formatted(""), this.locking));
	}

	// Its first column tells whether it has changed the row.
	private SqlStatement telling(SqlStatement statement) {
		return this.returning ? statement.telling() : statement;
	}

	private SqlStatement limited(String text) {
		return this.limit.statement(text);
	}

	private SqlStatement confirmed(String insert, String changed) {
		return this.returning ? telling(limited(insert + " RETURNING " + changed)) : limited(insert)
			.answeredBy(this.sql.statement("SELECT 1 FROM " + this.table + " WHERE id = :id AND " + changed));
	}

	// The second statement locks the row: a transaction with an older snapshot would
	// read an older version of it.
	private SqlStatement returning(String insert, String answer) {
		return this.returning ? limited(insert + " RETURNING " + answer) : limited(insert)
			.answeredBy(limited("SELECT " + answer + " FROM " + this.table + " WHERE id = :id LOCK IN SHARE MODE"));
	}

	private SqlStatement returningAll(MySqlLimit limit, String insert, String returned, String read) {
		return this.returning ? limit.statement(insert + " RETURNING " + returned) : limit.statement(insert)
			.answeredBy(limit.statement(
					"SELECT " + read + " FROM " + IDS.formatted("") + BY_ID.formatted(this.table) + " FOR SHARE OF r"));
	}

}
