/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import org.springframework.util.Assert;

/**
 * The statements for the records of one table. Those that are the same in all databases
 * are here; the others are added by the class of each database.
 * <p>
 * The statements for the operator read a part of the index on {@code expires_at}, because
 * no column that a completion changes is indexed. They change single records by their id.
 */
class RecordSql {

	// A record is free when it failed or its lease or retention has expired. The version
	// that completed last keeps lower ones out for its retention, whatever the state is,
	// and lets a higher one in. Without a version, the first condition is null. The
	// arguments are the qualifier of the record, the requested version and the time.
	static final String FREE = """
			(CASE WHEN %1$sdecided_version >= %2$s THEN %1$sstate = 'C' AND %1$sexpires_at <= %3$s
			      ELSE %1$sstate = 'F' OR (%1$sstate = 'P' AND %1$slease_until <= %3$s)
			        OR (%1$sstate = 'C' AND (%1$sexpires_at <= %3$s OR %2$s IS NOT NULL)) END)""";

	// Argument: the time until the end of the lease.
	static final String ANSWER = """
			r.state AS outcome, r.fence, r.attempt, r.fingerprint, r.result, %1$s AS left_ms, r.decided_version""";

	// Arguments: whether the record is free, whether it is the caller's, the time until
	// the end of the lease, the record.
	static final String LOOK_UP = """
			SELECT CASE WHEN %1$s OR %2$s THEN 'A' ELSE r.state END AS outcome,
			  CASE WHEN %2$s OR NOT %1$s THEN r.fence ELSE r.fence + 1 END AS fence,
			  CASE WHEN %2$s OR NOT %1$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END AS attempt,
			  r.fingerprint, r.result, %3$s AS left_ms, r.decided_version
			FROM %4$s""";

	static final String RECORD = """
			id, state, fence, attempt, lease_until, created_at, expires_at, completed_at, error_type, error_message,
			  decided_version""";

	private static final String FIND_ALL = "SELECT " + RECORD + " FROM %1$s WHERE id = ANY(CAST(:id AS uuid ARRAY))";

	private static final String BEFORE = "expires_at <= :before AND (expires_at < :before OR id < :beforeid)";

	private static final String WITHIN = "expires_at >= :bound AND (expires_at > :bound OR id >= :boundid)";

	private static final String ORDER = "ORDER BY expires_at DESC, id DESC";

	private static final String STUCK = "state = 'P' AND lease_until <= %2$s";

	private static final String BOUND = "SELECT expires_at, id FROM %1$s WHERE " + BEFORE + " " + ORDER
			+ " LIMIT 1 OFFSET :others";

	private static final String OVERVIEW = """
			SELECT scope, SUM(CASE WHEN state = 'P' THEN 1 ELSE 0 END) AS in_progress,
			  SUM(CASE WHEN\s""" + STUCK + """
			 THEN 1 ELSE 0 END) AS stuck,
			  SUM(CASE WHEN state = 'F' THEN 1 ELSE 0 END) AS failed,
			  SUM(CASE WHEN state = 'C' THEN 1 ELSE 0 END) AS completed,
			  MIN(CASE WHEN state = 'P' THEN created_at END) AS oldest, %2$s AS now
			FROM %1$s WHERE\s""" + WITHIN + " GROUP BY scope ORDER BY scope";

	private static final String LIST = """
			SELECT scope, %3$s,\s""" + RECORD + " FROM %1$s WHERE " + BEFORE + " AND " + WITHIN;

	private static final String PAGE = " " + ORDER + " LIMIT :limit";

	private static final String EVICTABLE_SELECTION = """
			AND scope = :scope AND LEFT(%3$s, CHAR_LENGTH(CAST(:prefix AS %4$s))) = :prefix
			 AND created_at >= :createdfrom AND created_at < :createdbefore
			 AND (state <> 'P' OR lease_until <= %2$s OR :force)""";

	// A locked row is in use. A wait for it could end in a deadlock with a batch.
	private static final String EVICT_ALL = """
			DELETE FROM %1$s WHERE id IN (SELECT id FROM %1$s WHERE id = ANY(CAST(:id AS uuid ARRAY))
			    AND (state <> 'P' OR lease_until <= %2$s OR :force) FOR UPDATE SKIP LOCKED)""";

	static final String OPERATOR_RELEASE = "UPDATE %1$s SET state = 'F', token = NULL, lease_until = NULL";

	static final String RELEASABLE = "id = :id AND (state = 'F' OR (state = 'P' AND (lease_until <= %2$s OR :force)))";

	static final String EVICTABLE = "id = :id AND (state <> 'P' OR lease_until <= %2$s OR :force)";

	// Without the token, a failure that is noted next is not its repetition. No version
	// is lower than the lowest one.
	static final String UNDO = """
			state = 'F', token = NULL, attempt = attempt - 1, completed_at = NULL,
			  decided_version = CASE WHEN version IS NULL THEN decided_version
			    WHEN version > -9223372036854775808 THEN version - 1 END""";

	private final Map<Name, List<SqlStatement>> statements = new EnumMap<>(Name.class);

	private final ValueTypes types;

	// Create the statements that are the same in all databases.
	RecordSql(Object table, String now, String key, String text, ValueTypes types) {
		this.types = types;
		add(Name.FIND_ALL, FIND_ALL.formatted(table));
		add(Name.STORE_RESULT, "UPDATE %1$s SET result = :result WHERE id = :id AND token = :token".formatted(table));
		add(Name.BOUND, BOUND.formatted(table));
		add(Name.OVERVIEW, OVERVIEW.formatted(table, now));
		add(Name.STUCK, (LIST + " AND " + STUCK + PAGE).formatted(table, now, key, text));
		add(Name.FAILED, (LIST + " AND state = 'F' AND error_type IS NOT NULL" + PAGE).formatted(table, now, key));
		add(Name.EVICTABLE, (LIST + EVICTABLE_SELECTION + PAGE).formatted(table, now, key, text));
		add(Name.EVICT_ALL, EVICT_ALL.formatted(table, now));
		add(Name.RESULT, "SELECT result FROM %1$s WHERE id = :id".formatted(table));
		add(Name.STATE, "SELECT state FROM %1$s WHERE id = :id".formatted(table));
	}

	final void add(Name name, String... texts) {
		this.statements.put(name, Arrays.stream(texts).map(this::statement).toList());
	}

	final void add(Name name, SqlStatement... added) {
		this.statements.put(name, List.of(added));
	}

	SqlStatement statement(String text) {
		return SqlStatement.of(text, this.types);
	}

	ValueTypes types() {
		return this.types;
	}

	boolean has(Name name) {
		return this.statements.containsKey(name);
	}

	SqlStatement get(Name name) {
		return all(name).get(0);
	}

	List<SqlStatement> all(Name name) {
		List<SqlStatement> found = this.statements.get(name);
		Assert.state(found != null, () -> "The dialect does not have the statement " + name);
		return found;
	}

	/**
	 * The names of the statements. Those for one record have the parameters {@code id},
	 * {@code scope}, {@code key}, {@code token}, {@code fingerprint}, {@code lease},
	 * {@code retention}, {@code state}, {@code fence}, {@code attempt},
	 * {@code error_type} and {@code error_message} of a claim and the additional ones
	 * that are listed here.
	 * <p>
	 * Those for several records have arrays of equal length under the same names. They
	 * lock records in the order of their ids, so that two batches never block each other.
	 * If they change claims they return the tokens of the changed records.
	 */
	enum Name {

		// Inserts a completed record and returns a row if it did.
		INSERT,

		// Claims a key without a version: each statement is run until one returns a
		// row. Parameter 'state'. Columns: outcome ('A', or the state of a record
		// that is not free), fence, attempt, fingerprint, result, left_ms,
		// decided_version. Another transaction has interfered, so that the claim is
		// repeated, if the outcome is 'R' or if no statement returns a row. The
		// outcome 'N' is a new record and, like 'C', then needs no column for another
		// state.
		CLAIM,

		// Claims a key without a version, as a completed record. Columns as for
		// CLAIM. Absent if CLAIM does.
		CLAIM_IN_TRANSACTION,

		// Claims a key that probably has a record, in one round trip. Parameters and
		// columns as for CLAIM. Absent if CLAIM takes one round trip.
		CLAIM_KNOWN,

		// Reads a record that is not free. Columns as for CLAIM. Absent if it would
		// not be faster than CLAIM.
		READ,

		// Reads a record. Columns as for CLAIM: a free record has the outcome 'A',
		// and the fence and attempt of the next claim.
		LOOK_UP,

		// Claims several keys: each statement is run for the keys without an
		// outcome. Parameter 'state'. Columns as for CLAIM and the id; no row for a
		// key if another transaction has interfered.
		CLAIM_ALL,

		// Inserts records, and reads the existing ones that are not free. Parameter
		// 'state'. Columns as for CLAIM_ALL; no row for a key that is free or with
		// which another transaction has interfered. Absent if it would not be faster
		// than CLAIM_ALL.
		INSERT_ALL,

		// Completes a claim. Parameter 'result'.
		COMPLETE,

		// Completes several claims. Parameter 'result'. A second statement, here
		// and in the next three, is run if a concurrent transaction makes the
		// first one fail.
		COMPLETE_ALL,

		// Completes a claim and then claims another key. Parameters: those of CLAIM
		// for the other key, 'done' and 'donetoken', the id and the token of the
		// claim, and 'result'. Columns: settled, whether the claim is completed and
		// the row is that of the other key, and those of CLAIM. If it is not
		// completed, the other key is not claimed, and the statement may fail. If
		// there is a second statement, it is a CLAIM for the outcome 'R', and neither
		// key has a version. Absent if one statement cannot do both.
		COMPLETE_AND_CLAIM,

		// Records one failure for several claims. Parameters 'error_type' and
		// 'error_message', one value each.
		FAIL_ALL,

		RELEASE_ALL,

		RENEW_ALL,

		// Inserts a claim or renews it, and changes or returns a row if it did.
		RESTORE,

		// Records one failure for several keys that are free. Parameters and columns as
		// for CLAIM_ALL, with the state 'F' and the failure. The last statement is run
		// for each key if a concurrent transaction makes the first one fail.
		NOTE_FAILURES,

		// Undoes completions of claims in a transaction. A second statement as for
		// COMPLETE_ALL.
		UNDO_ALL,

		// Stores a result in a record of the current transaction.
		// Parameter 'result'.
		STORE_RESULT,

		// Stores results in records of the current transaction. Parameter 'result'.
		STORE_RESULTS,

		// Finds a record that the current transaction has written. Parameters 'id'
		// and 'token'. Absent if the database does not roll back a whole
		// transaction after an error of one statement.
		WRITTEN,

		// Returns the ids of the records that exist. Column: id.
		KNOWN,

		// Reads records. Parameter 'id', the ids.
		FIND_ALL,

		// Finds the last record that an operator's call may read: no row if there
		// are no more records. Parameters 'before', 'beforeid' and 'others', the
		// number of records between. Columns: expires_at, id.
		BOUND,

		// Counts the records of each scope. Parameters 'bound' and 'boundid'.
		// Columns: scope, in_progress, stuck, failed, completed, oldest, now.
		OVERVIEW,

		// Lists stuck claims. Parameters 'before', 'beforeid', 'bound', 'boundid'
		// and 'limit'.
		STUCK,

		// Lists failed operations. Parameters as for STUCK.
		FAILED,

		// Lists the records of a selection that EVICT_ALL would delete.
		// Parameters as for STUCK, and 'scope', 'prefix', 'createdfrom',
		// 'createdbefore' and 'force'.
		EVICTABLE,

		RESULT,

		STATE,

		// Estimates the number of records. Absent if the database does not keep such
		// an estimate.
		ESTIMATE,

		// Releases a record for an operator. Parameter 'force'.
		RELEASE_BY_OPERATOR,

		// Evicts a record for an operator. Parameter 'force'.
		EVICT,

		// Evicts the records of an operator's selection by their ids, except for
		// those that are locked. Parameters 'id', an array, and 'force'.
		EVICT_ALL

	}

}
