/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.Map;

import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests that completions write no index entries.
 */
class HeapOnlyUpdateTests {

	private static final int ROUNDS = 500;

	@Test
	void completionsAreHeapOnlyUpdates() {
		try (TestDatabase database = TestDatabase.create()) {
			SingleConnectionDataSource session = new SingleConnectionDataSource(database.pool().getJdbcUrl(),
					Servers.postgres().username(), Servers.postgres().password(), true);
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(session, TestDatabase.TABLE, TestDatabase.TIMEOUT);
			for (int i = 0; i < ROUNDS; i++) {
				ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
				one(store).claim(request);
				one(store).complete(request, new byte[] { 1, 2, 3 });
			}
			new JdbcTemplate(session).execute("SELECT pg_stat_force_next_flush()");
			Map<String, Object> updates = await().until(() -> updates(database),
					(row) -> (long) row.get("all_updates") >= ROUNDS);
			session.destroy();
			assertThat((long) updates.get("hot_updates")).isGreaterThanOrEqualTo(ROUNDS * 95L / 100);
		}
	}

	private static Map<String, Object> updates(TestDatabase database) {
		return database.jdbc()
			.queryForMap("SELECT n_tup_upd AS all_updates, n_tup_hot_upd AS hot_updates FROM pg_stat_user_tables "
					+ "WHERE relname = ?", TestDatabase.TABLE);
	}

}
