/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Test;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.contract.Endings;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that batches, and completions that claim another key, use the index, also with
 * plans that were made while the table was empty.
 */
class BatchPlanTests {

	private static final int ROWS = 20_000;

	@Test
	void plansOfAnEmptyTableUseTheIndexWhenTheTableIsFull() {
		try (TestDatabase database = TestDatabase.create()) {
			SingleConnectionDataSource session = new SingleConnectionDataSource(database.pool().getJdbcUrl(),
					Servers.postgres().username(), Servers.postgres().password(), true);
			JdbcTemplate jdbc = new JdbcTemplate(session);
			jdbc.execute("ALTER TABLE " + TestDatabase.TABLE + " SET (autovacuum_enabled = false)");
			jdbc.execute("SET plan_cache_mode = force_generic_plan");
			// The driver prepares a statement at its fifth use.
			for (int i = 0; i < 6; i++) {
				run(session);
			}
			jdbc.update("INSERT INTO " + TestDatabase.TABLE
					+ " (id, scope, key, state, fence, attempt, created_at, expires_at) "
					+ "SELECT gen_random_uuid(), 's', 'k', 'C', 1, 1, now(), now() + interval '1 hour' "
					+ "FROM generate_series(1, ?)", ROWS);
			long before = rowsReadWithoutIndex(jdbc);
			run(session);
			assertThat(rowsReadWithoutIndex(jdbc) - before).isLessThan(ROWS / 10);
			session.destroy();
		}
	}

	private static void run(SingleConnectionDataSource session) {
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(session, TestDatabase.TABLE, TestDatabase.TIMEOUT);
		Failure failure = new Failure("x", null);
		List<ClaimRequest> requests = Stream.generate(() -> TestDatabase.request(TestDatabase.newKey()))
			.limit(10)
			.toList();
		List<Ending.Completed> completions = requests.stream()
			.map((owner) -> new Ending.Completed(owner, new byte[0]))
			.toList();
		store.settleAfterTransaction(Endings.failed(requests, failure), List.of());
		store.claim(requests);
		store.renew(requests);
		store.settle(Endings.released(requests));
		store.settle(Endings.failed(requests, failure));
		store.claim(requests);
		store.completeAndClaim(completions.get(0), TestDatabase.request(TestDatabase.newKey()));
		store.settle(List.copyOf(completions));
		new TransactionTemplate(new JdbcTransactionManager(session))
			.executeWithoutResult((status) -> store.storeResults(completions));
	}

	private static long rowsReadWithoutIndex(JdbcTemplate jdbc) {
		jdbc.execute("SELECT pg_stat_force_next_flush()");
		return jdbc.queryForObject("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = ?", Long.class,
				TestDatabase.TABLE);
	}

}
