/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyRecords.Overview;
import dev.idempotency.store.IdempotencyRecords.Page;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/**
 * Tests for a table that has more records than a call may read.
 */
class RecordWindowTests {

	private static final int MORE = 5000;

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	// The first failure expires after all other records and the second one
	// before them.
	@BeforeAll
	static void fill() {
		database.jdbc().update("""
				INSERT INTO idempotency_record (id, scope, key, state, fence, attempt, created_at, expires_at)
				SELECT md5(i::text)::uuid, 'large', 'key' || i, 'C', 1, 1, now(), now() + i * interval '1 ms'
				FROM generate_series(1, ?) i""", IdempotencyRecords.WINDOW + MORE);
		for (int i : List.of(IdempotencyRecords.WINDOW + MORE, 10)) {
			IdempotencyKey key = IdempotencyKey.of("large", "key" + i);
			database.jdbc()
				.update("UPDATE idempotency_record SET state = 'F', error_type = 'Refused', id = ? WHERE key = ?",
						key.id(), key.value());
		}
		database.jdbc().execute("ANALYZE idempotency_record");
	}

	@Test
	void newestRecordsAreCountedAndTheOthersEstimated() {
		Overview overview = database.store().records().orElseThrow().overview();
		assertThat(overview.complete()).isFalse();
		assertThat(overview.scopes()).singleElement().satisfies((scope) -> {
			assertThat(scope.failed()).isOne();
			assertThat(scope.completed()).isEqualTo(IdempotencyRecords.WINDOW - 1);
		});
		assertThat(overview.estimate()).isCloseTo(IdempotencyRecords.WINDOW + MORE, within(2000L));
	}

	@Test
	void nextPageContinuesAfterTheWindow() {
		Page first = database.store().records().orElseThrow().failed(10, null);
		assertThat(first.records()).extracting((record) -> record.key().value())
			.containsExactly("key" + (IdempotencyRecords.WINDOW + MORE));
		assertThat(first.complete()).isFalse();
		Page second = database.store().records().orElseThrow().failed(10, first.next());
		assertThat(second.records()).extracting((record) -> record.key().value()).containsExactly("key10");
		assertThat(second.complete()).isTrue();
		assertThat(second.next()).isNull();
	}

	@Test
	void windowIsReadFromTheIndex() {
		String plan = String.join("\n", database.jdbc()
			.queryForList(
					"EXPLAIN SELECT expires_at, id FROM idempotency_record WHERE expires_at <= now() + interval '1 year' "
							+ "ORDER BY expires_at DESC, id DESC LIMIT 1 OFFSET 100",
					String.class));
		assertThat(plan).contains("Index Scan Backward");
	}

}
