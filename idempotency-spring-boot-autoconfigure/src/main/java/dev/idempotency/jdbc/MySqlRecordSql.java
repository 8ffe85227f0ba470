/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

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
 * record is taken over.
 * <p>
 * The time is the start of the statement in UTC: a little early after a wait for a lock,
 * so that no claim is taken over too soon.
 */
final class MySqlRecordSql extends RecordSql {

	static final String NOW = "UTC_TIMESTAMP(6)";

	// RETURNING does not know the requested version.
	private static final String FREE_WITHOUT_VERSION = "(decided_version IS NULL AND " + FREE.formatted("", "NULL", NOW)
			+ ")";

	private static final String OWN = "(state = VALUES(state) AND token <=> VALUES(token))";

	// The owner of a completed claim may repeat its claim, or note a failure.
	private static final String TAKEN = """
			(token <=> VALUES(token)
			      AND NOT (VALUES(state) <> 'C' AND state = 'C' AND expires_at > UTC_TIMESTAMP(6)
			        AND (VALUES(version) IS NULL OR COALESCE(decided_version >= VALUES(version), FALSE))))""";

	private static final String ROW = """
			:id, :scope, :key, :state, :fence, :attempt, :token, :fingerprint,
			  UTC_TIMESTAMP(6) + INTERVAL :lease * 1000 MICROSECOND, UTC_TIMESTAMP(6),
			  UTC_TIMESTAMP(6) + INTERVAL :retention * 1000 MICROSECOND, IF(:state = 'C', UTC_TIMESTAMP(6), NULL),
			  :version, IF(:state = 'C', :version, NULL), :error_type, :error_message""";

	private static final String INSERT = "INSERT INTO %1$s (" + RequestSql.COLUMNS.replace('"', '`') + ") ";

	private static final String INSERT_ONE = INSERT + "VALUES (" + ROW + ")";

	private static final String NEW_COLUMNS = """
			INSERT INTO %s (id, scope, `key`, state, fence, attempt, token, fingerprint, created_at, expires_at,\s""";

	private static final String NEW_ROW = """
			(:id, :scope, :key, %s, 1, 1, :token, :fingerprint, UTC_TIMESTAMP(6),
			  UTC_TIMESTAMP(6) + INTERVAL :retention * 1000 MICROSECOND,\s""";

	private static final String LEASE_UNTIL = "UTC_TIMESTAMP(6) + INTERVAL :lease * 1000 MICROSECOND)";

	private static final String RETURNING = " ON DUPLICATE KEY UPDATE id = VALUES(id) RETURNING ";

	// Most keys are new. The server parses a statement each time that it is run, and the
	// one that takes over a record takes several times as long.
	private static final String CLAIM_NEW = NEW_COLUMNS + "lease_until) VALUES " + NEW_ROW.formatted("'P'")
			+ LEASE_UNTIL + RETURNING;

	private static final String COMPLETED_NEW = NEW_COLUMNS + "completed_at, version, decided_version) VALUES "
			+ NEW_ROW.formatted("'C'") + "UTC_TIMESTAMP(6), :version, :version)" + RETURNING;

	// An earlier record of the same owner is left to the next statement.
	private static final String NEW_OR_COMPLETED = """
			IF(token = :token, IF(created_at = UTC_TIMESTAMP(6), 'N', 'R'),
			  IF(state = 'C' AND expires_at > UTC_TIMESTAMP(6), 'C', 'R'))""";

	private static final String ANSWER_OF_NEW = NEW_OR_COMPLETED + " AS outcome, fingerprint, result";

	private static final String COMPLETES = "VALUES(state) = 'C' AND state = 'P' AND token = VALUES(token)";

	// The first row completes a claim. If the caller does not own it, the sum, which is
	// out of range, ends the statement, so that it has no effect: neither the claim of
	// the second row nor, if there is no record, the insert of the first one.
	private static final String COMPLETE_AND_CLAIM = NEW_COLUMNS + """
			lease_until) VALUES
			  (:done, '', '', 'C', 1, 1, :donetoken, NULL, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), NULL),
			""" + NEW_ROW.formatted("'P'") + LEASE_UNTIL
			+ """

					ON DUPLICATE KEY UPDATE completed_at = IF(%1$s, UTC_TIMESTAMP(6), completed_at),
					  result = IF(%1$s, :result, result), state = IF(%1$s, 'C', state), lease_until = IF(state = 'C', NULL, lease_until)
					RETURNING id <> :done AS settled, CASE WHEN id <> :done THEN %2$s
					  WHEN token = :donetoken AND state = 'C' AND completed_at IS NOT NULL THEN 'C'
					  ELSE 9223372036854775807 + fence END AS outcome, fingerprint, result"""
				.formatted(COMPLETES, NEW_OR_COMPLETED);

	private static final String INSERT_ALL = INSERT + "SELECT " + MySqlTypes.columns(ROW) + " FROM "
			+ MySqlTypes.rows("id", "token", "scope", "key", "fingerprint", "lease", "retention", "version");

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
			  expires_at = IF(%3$s, VALUES(expires_at), expires_at)"""
		.formatted(FREE.formatted("", "VALUES(version)", NOW), OWN, TAKEN);

	private static final String LEFT = "CEIL(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), lease_until) / 1000)";

	// In the answer of a second statement, another transaction may have interfered.
	// Arguments: whether the caller has taken the record, whether the record is free.
	private static final String TAKEN_OVER = """
			CASE WHEN %1$s AND state = :state THEN 'A' WHEN %2$s THEN 'R' ELSE state END AS outcome,
			  fence, attempt, fingerprint, result, %3$s AS left_ms, decided_version""";

	private static final String OWN_FOR = "(r.state = 'P' AND r.token <=> :token)";

	// Statistics that are not up to date would lead to a scan, which locks each row.
	private static final String BY_ID = "STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = UNHEX(k_id)";

	private static final String IDS = MySqlTypes.rows("id", "token") + " " + BY_ID;

	private static final String COMPLETE = "state = 'C', lease_until = NULL, completed_at = UTC_TIMESTAMP(6), "
			+ "decided_version = COALESCE(version, decided_version), result = ";

	private static final String FAIL = "state = 'F', lease_until = NULL, error_type = :error_type, error_message = :error_message";

	private static final String RELEASE = "state = 'F', lease_until = NULL, attempt = attempt - 1";

	private static final String RENEW = """
			lease_until = UTC_TIMESTAMP(6) + INTERVAL k_lease * 1000 MICROSECOND,
			  expires_at = GREATEST(expires_at, UTC_TIMESTAMP(6) + INTERVAL k_lease * 1000 MICROSECOND)""";

	private static final String RESTORE = """

			ON DUPLICATE KEY UPDATE lease_until = IF(%1$s, VALUES(lease_until), lease_until),
			  expires_at = IF(%1$s, GREATEST(expires_at, VALUES(lease_until)), expires_at)""".formatted(OWN);

	private static final String EVICT_ALL = "DELETE r FROM (SELECT r.id FROM " + IDS + """
			  WHERE state <> 'P' OR lease_until <= UTC_TIMESTAMP(6) OR :force %2$s SKIP LOCKED) e
			STRAIGHT_JOIN %1$s r FORCE INDEX (PRIMARY) ON r.id = e.id""";

	private static final String ESTIMATE = """
			SELECT CAST(TABLE_ROWS AS SIGNED) FROM information_schema.TABLES
			WHERE CONCAT('`', TABLE_SCHEMA, '`.', TABLE_NAME) = '%s'""";

	private final String table;

	private final boolean mariaDb;

	// MySQL wants to lock the rows of JSON_TABLE, too.
	private final String locking;

	// Limits the time of a statement.
	private final MySqlLimit limit;

	MySqlRecordSql(TableName table, boolean mariaDb, MySqlLimit limit, MySqlLimit shortLimit) {
		super(table.withBackticks(), NOW, "`key`", "CHAR", MySqlTypes.INSTANCE);
		this.table = table.withBackticks();
		this.mariaDb = mariaDb;
		this.locking = mariaDb ? "FOR UPDATE" : "FOR UPDATE OF r";
		this.limit = limit;
		addClaims(shortLimit);
		addSettlements();
		addOthers();
	}

	private void addClaims(MySqlLimit shortLimit) {
		String free = FREE.formatted("r.", ":version", NOW);
		String insert = INSERT_ONE.formatted(this.table);
		String answer = takenOver("token = :token", FREE.formatted("", ":version", NOW));
		SqlStatement claim = this.limit.answered(insert + TAKE_OVER, answer, answer,
				this.table + " WHERE id = :id LOCK IN SHARE MODE");
		if (this.mariaDb) {
			add(Name.CLAIM, insertNew(CLAIM_NEW, ANSWER_OF_NEW), claim);
			add(Name.CLAIM_IN_TRANSACTION, insertNew(COMPLETED_NEW, ANSWER_OF_NEW), claim);
			add(Name.CLAIM_KNOWN, claim);
			add(Name.COMPLETE_AND_CLAIM, shortLimit.statement(COMPLETE_AND_CLAIM.formatted(this.table)),
					shortLimit.statement(insert + TAKE_OVER + " RETURNING " + answer));
		}
		else {
			add(Name.CLAIM, claim);
		}
		add(Name.CLAIM_ALL, claimAll(this.limit));
		add(Name.NOTE_FAILURES, claimAll(this.limit), claimAll(shortLimit));
		add(Name.READ, "SELECT " + ANSWER.formatted(LEFT) + " FROM " + this.table + " r WHERE r.id = :id AND NOT ("
				+ free + " OR " + OWN_FOR + ")");
		add(Name.LOOK_UP, LOOK_UP.formatted(free, OWN_FOR, LEFT, this.table + " r WHERE r.id = :id"));
		// The driver of MariaDB logs a warning for each duplicate key.
		add(Name.INSERT,
				this.mariaDb ? insertNew(COMPLETED_NEW, "token = :token").telling() : this.limit.statement(insert));
		String restore = insert + RESTORE;
		String own = "state = 'P' AND token = :token";
		add(Name.RESTORE, this.mariaDb ? this.limit.statement(restore + " RETURNING " + own).telling()
				: this.limit.statement(restore).answeredBy(find(own)));
		add(Name.STORE_RESULTS,
				this.limit.statement(
						("UPDATE " + MySqlTypes.rows("id", "token", "result") + " " + BY_ID).formatted(this.table)
								+ " AND token = UNHEX(k_token) SET result = FROM_BASE64(k_result)"));
		add(Name.WRITTEN, find("token = :token AND state = 'C'"));
	}

	private void addSettlements() {
		String owned = " WHERE id = :id AND token = :token AND state = 'P'";
		add(Name.COMPLETE, this.limit.statement("UPDATE " + this.table + " SET " + COMPLETE + ":result" + owned)
			.confirmedBy(find("token = :token AND state = 'C'")));
		addSettlement(Name.COMPLETE_ALL, "'P'", "'C'", COMPLETE + "FROM_BASE64(k_result)", "id", "token", "result");
		addSettlement(Name.FAIL_ALL, "'P'", "'F'", FAIL, "id", "token");
		addSettlement(Name.RELEASE_ALL, "'P'", "'F'", RELEASE, "id", "token");
		addSettlement(Name.UNDO_ALL, "'C'", "'F'", UNDO, "id", "token");
		addSettlement(Name.RENEW_ALL, "'P'", "'P'", RENEW, "id", "token", "lease");
	}

	// The second statement skips records that are locked.
	private void addSettlement(Name name, String from, String to, String changes, String... columns) {
		String rows = MySqlTypes.rows(columns);
		String claims = (rows + " " + BY_ID + " AND token = UNHEX(k_token)").formatted(this.table);
		SqlStatement settled = statement("SELECT token FROM " + claims + " WHERE state = " + to);
		String free = ("UPDATE (SELECT r.id AS held FROM " + IDS + " AND token = UNHEX(k_token) WHERE state = " + from
				+ " " + this.locking + " SKIP LOCKED) h STRAIGHT_JOIN " + rows
				+ " ON UNHEX(k_id) = held STRAIGHT_JOIN %1$s" + " r FORCE INDEX (PRIMARY) ON r.id = held SET ")
			.formatted(this.table) + changes + " WHERE state = " + from;
		add(name, this.limit.statement("UPDATE " + claims + " SET " + changes + " WHERE state = " + from)
			.confirmedBy(settled), this.limit.statement(free).answeredBy(settled));
	}

	private void addOthers() {
		String ids = IDS.formatted(this.table);
		add(Name.KNOWN, "SELECT r.id FROM " + ids);
		add(Name.FIND_ALL, "SELECT " + RECORD + " FROM " + ids);
		add(Name.ESTIMATE, ESTIMATE.formatted(this.table));
		add(Name.RELEASE_BY_OPERATOR,
				this.limit.statement((OPERATOR_RELEASE + " WHERE " + RELEASABLE).formatted(this.table, NOW))
					.confirmedBy(find("state = 'F'")));
		add(Name.EVICT, this.limit.statement(("DELETE FROM %1$s WHERE " + EVICTABLE).formatted(this.table, NOW)));
		add(Name.EVICT_ALL, EVICT_ALL.formatted(this.table, this.locking));
	}

	private SqlStatement find(String condition) {
		return statement("SELECT 1 FROM " + this.table + " WHERE id = :id AND " + condition);
	}

	private SqlStatement insertNew(String insert, String returned) {
		return this.limit.statement(insert.formatted(this.table) + returned);
	}

	private SqlStatement claimAll(MySqlLimit limit) {
		return limit.answered(INSERT_ALL.formatted(this.table) + TAKE_OVER,
				// RETURNING knows only the columns of the table.
				"id, " + takenOver("LOCATE(token, :tokens) > 0", FREE_WITHOUT_VERSION),
				"r.id, " + takenOver("token = UNHEX(k_token)", FREE.formatted("", "k_version", NOW)),
				MySqlTypes.rows("id", "token", "version") + " " + BY_ID.formatted(this.table) + " FOR SHARE OF r");
	}

	private static String takenOver(String taken, String free) {
		return TAKEN_OVER.formatted(taken, free, LEFT);
	}

}
