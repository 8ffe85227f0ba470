/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

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
final class H2RecordSql extends StandardRecordSql {

	private static final String NOW = "CURRENT_TIMESTAMP";

	private static final String LEFT = "DATEDIFF(MILLISECOND, CURRENT_TIMESTAMP, r.lease_until)";

	private static final String REQUEST = request(false, "");

	private static final String REQUESTS = request(true, " ORDER BY id");

	private static final String MERGE = """
			MERGE INTO %1$s r USING (%2$s) i ON r.id = i.id WHEN MATCHED AND %3$s THEN UPDATE SET %4$s
			WHEN NOT MATCHED THEN INSERT (%5$s) VALUES (%6$s)""";

	private static final String OWNED = """
			SELECT token FROM FINAL TABLE (
			  MERGE INTO %1$s r USING (%2$s ORDER BY id) i ON r.id = i.id AND r.token = i.token
			  WHEN MATCHED AND r.state IN (%3$s) THEN UPDATE SET %4$s)""";

	private static final String STORE_RESULTS = "MERGE INTO %1$s r USING (" + RequestSql.all("id", "token", "result")
			+ ") i ON r.id = i.id AND r.token = i.token WHEN MATCHED THEN UPDATE SET result = i.result";

	private final TableName table;

	H2RecordSql(TableName table) {
		super(table, NOW, LEFT);
		this.table = table;
		String takeAll = take(REQUESTS);
		add(Name.INSERT, "INSERT INTO " + table + " (" + RequestSql.COLUMNS + ") SELECT * FROM (" + REQUEST + ") i");
		add(Name.CLAIM, taken(REQUEST, NOW, LEFT).formatted(table), take(REQUEST));
		add(Name.CLAIM_ALL, taken(REQUESTS, NOW, LEFT).formatted(table), takeAll);
		add(Name.NOTE_FAILURES, takeAll);
		add(Name.RESTORE, merge(REQUEST, "r.state = 'P' AND r.token = i.token", "lease_until = i.lease_until"));
		addOwned(Name.COMPLETE_ALL, "'P', 'C'", COMPLETION.formatted(NOW, "i.result"), "id", "token", "result");
		addOwned(Name.FAIL_ALL, "'P', 'F'", FAILURE, "id", "token");
		addOwned(Name.RELEASE_ALL, "'P', 'F'", RELEASE, "id", "token");
		addOwned(Name.UNDO_ALL, "'C'", UNDO, "id", "token");
		addOwned(Name.RENEW_ALL, "'P'", "lease_until = CURRENT_TIMESTAMP + i.lease * INTERVAL '0.001' SECOND", "id",
				"token", "lease");
		add(Name.STORE_RESULTS, STORE_RESULTS.formatted(table));
	}

	private static String request(boolean several, String order) {
		return RequestSql.inserted("SELECT u.*, CURRENT_TIMESTAMP AS n FROM (" + RequestSql.claims(several) + ") u")
				+ order;
	}

	private String take(String requests) {
		return "SELECT id, 'A' AS outcome, fence, attempt FROM FINAL TABLE ("
				+ merge(requests, claimable("i", NOW), takeOver("i", NOW)) + ")";
	}

	private String merge(String requests, String condition, String changes) {
		return MERGE.formatted(this.table, requests, condition, changes, RequestSql.COLUMNS,
				RequestSql.COLUMNS.replaceAll("[\\w\"]+", "i.$0"));
	}

	private void addOwned(Name name, String states, String changes, String... columns) {
		add(name, OWNED.formatted(this.table, RequestSql.all(columns), states, changes));
	}

}
