/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

/**
 * The statements for records that are the same in PostgreSQL and H2, and the parts of the
 * others.
 */
class StandardRecordSql extends RecordSql {

	// The assignments that settle a claim do not change a record that is settled already:
	// an owner may repeat its call after an error with an unknown outcome. Arguments: the
	// time, the result.
	static final String COMPLETION = """
			completed_at = CASE WHEN r.state = 'P' THEN %1$s ELSE r.completed_at END,
			  decided_version = CASE WHEN r.state = 'P' THEN COALESCE(r.version, r.decided_version) ELSE r.decided_version END,
			  result = CASE WHEN r.state = 'P' THEN %2$s ELSE r.result END, lease_until = NULL, state = 'C'""";

	static final String FAILURE = """
			error_type = CASE WHEN r.state = 'P' THEN :error_type ELSE r.error_type END,
			  error_message = CASE WHEN r.state = 'P' THEN :error_message ELSE r.error_message END,
			  lease_until = NULL, state = 'F'""";

	static final String RELEASE = """
			attempt = CASE WHEN r.state = 'P' THEN r.attempt - 1 ELSE r.attempt END, lease_until = NULL, state = 'F'""";

	private static final String COMPLETE = """
			UPDATE %1$s AS r SET %2$s WHERE r.id = :id AND r.token = :token AND r.state IN ('P', 'C')""";

	private static final String TAKE_OVER = """
			state = %1$s.state, fence = CASE WHEN %2$s THEN r.fence ELSE r.fence + 1 END,
			  attempt = CASE WHEN %2$s THEN r.attempt WHEN r.state = 'C' THEN 1 ELSE r.attempt + 1 END,
			  token = %1$s.token, fingerprint = %1$s.fingerprint, lease_until = %3$s + (%1$s.lease_until - %1$s.created_at),
			  expires_at = %3$s + (%1$s.expires_at - %1$s.created_at),
			  completed_at = CASE WHEN %1$s.state = 'C' THEN %3$s END, version = %1$s.version,
			  decided_version = COALESCE(%1$s.decided_version, r.decided_version),
			  result = CASE WHEN %1$s.state <> 'C' AND r.decided_version IS NOT NULL THEN r.result END,
			  error_type = %1$s.error_type, error_message = %1$s.error_message""";

	StandardRecordSql(TableName table, String now, String left) {
		super(table, now, "\"key\"", "character varying", ValueTypes.STANDARD);
		String requested = "(" + RequestSql.one("id", "token", "state", "version") + ") i JOIN " + table
				+ " r ON r.id = i.id";
		add(Name.LOOK_UP, LOOK_UP.formatted(free("i", now), own("i"), left, requested));
		add(Name.COMPLETE, COMPLETE.formatted(table, COMPLETION.formatted(now, ":result")));
		add(Name.KNOWN, "SELECT id FROM %1$s WHERE id = ANY(CAST(:id AS uuid ARRAY))".formatted(table));
		add(Name.RELEASE_BY_OPERATOR, (OPERATOR_RELEASE + " WHERE " + RELEASABLE).formatted(table, now));
		add(Name.EVICT, ("DELETE FROM %1$s WHERE " + EVICTABLE).formatted(table, now));
	}

	private static String free(String request, String now) {
		return FREE.formatted("r.", request + ".version", now);
	}

	private static String own(String request) {
		return "((r.state = %1$s.state AND r.token = %1$s.token) IS TRUE)".formatted(request);
	}

	static String claimable(String request, String now) {
		return "(" + free(request, now) + " OR " + own(request) + ")";
	}

	// The assignments that take over a record. An owner that repeats its claim keeps its
	// fence.
	static String takeOver(String request, String now) {
		return TAKE_OVER.formatted(request, own(request), now);
	}

	// Reads the records of requests that are not free.
	static String taken(String requests, String now, String left) {
		return "SELECT r.id, " + ANSWER.formatted(left) + " FROM (" + requests
				+ ") i JOIN %1$s r ON r.id = i.id WHERE NOT " + claimable("i", now);
	}

}
