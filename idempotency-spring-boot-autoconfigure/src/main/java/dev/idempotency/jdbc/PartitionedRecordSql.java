/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;

/**
 * The statements for records in a partitioned table of PostgreSQL. No index keeps an id
 * unique there, so that claims are functions which the migrations create. All other
 * statements are those of a single table: they find a record by its id in any partition.
 */
final class PartitionedRecordSql extends PostgresRecordSql {

	private static final String INSERT = """
			SELECT 1 FROM %1$s_claim('%2$s', :id::uuid, :scope::text, :key::text, 'C', :token::uuid, :fingerprint::bytea, NULL,
			  :retention::bigint, :version::bigint, true)
			WHERE outcome = 'A'""";

	private static final String CLAIM = """
			SELECT outcome, fence, attempt, fingerprint, result, left_ms, decided_version
			FROM %1$s_claim('%2$s', :id::uuid, :scope::text, :key::text, :state::text::"char", :token::uuid, :fingerprint::bytea,
			  :lease::bigint, :retention::bigint, :version::bigint, false)""";

	private static final String CLAIM_ALL = """
			SELECT id, outcome, fence, attempt, fingerprint, result, left_ms, decided_version
			FROM %1$s_claim_all('%2$s', :state::text::"char", :error_type::text, :error_message::text, :id::uuid[],
			  :scope::text[], :key::text[], :token::uuid[], :fingerprint::bytea[], :lease::bigint[], :retention::bigint[],
			  :version::bigint[])""";

	private static final String RESTORE = """
			SELECT 1 WHERE %1$s_restore('%2$s', :id::uuid, :scope::text, :key::text, :fence::integer, :attempt::integer,
			  :token::uuid, :fingerprint::bytea, :lease::bigint, :retention::bigint, :version::bigint)""";

	PartitionedRecordSql(TableName table, Duration lockWait) {
		super(table, lockWait);
		add(Name.INSERT, INSERT.formatted(table, this.wait));
		add(Name.CLAIM, CLAIM.formatted(table, this.wait));
		add(Name.INSERT_ALL, CLAIM_ALL.formatted(table, this.batchWait));
		add(Name.CLAIM_ALL, CLAIM_ALL.formatted(table, this.batchWait));
		add(Name.RESTORE, RESTORE.formatted(table, this.wait));
		add(Name.NOTE_FAILURES, CLAIM_ALL.formatted(table, this.batchWait), CLAIM_ALL.formatted(table, "1ms"));
	}

}
