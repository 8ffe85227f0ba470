/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.OffsetMark;
import dev.idempotency.store.OffsetMarks;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.Observers;
import dev.idempotency.template.OffsetPosition;
import dev.idempotency.template.OffsetPosition.TopicIdentity;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

/**
 * Tests for the cost and the table of {@link JdbcOffsetMarks}.
 */
class OffsetStatementTests {

	private static final AtomicInteger STATEMENTS = new AtomicInteger();

	private static final TopicIdentity IDENTITY = new TopicIdentity() {

		@Override
		public UUID get() {
			return new UUID(1, 2);
		}

		@Override
		public void confirm() {
		}

	};

	private static final AtomicLong OFFSETS = new AtomicLong();

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static IdempotencyTemplate template;

	private static TransactionTemplate transactions;

	private static JdbcTemplate jdbc;

	@BeforeAll
	static void createDatabase() {
		database.jdbc().execute("CREATE TABLE effect (value text)");
		DataSource counted = ProxyDataSourceBuilder.create(database.pool())
			.afterQuery((execution, queries) -> STATEMENTS.addAndGet(queries.size()))
			.build();
		JdbcTransactionManager manager = new JdbcTransactionManager(counted);
		template = new IdempotencyTemplate(new JdbcIdempotencyStore(counted, TestDatabase.TABLE, TestDatabase.TIMEOUT),
				new Settings(manager, false, Observers.none()));
		transactions = new TransactionTemplate(manager);
		jdbc = new JdbcTemplate(counted);
	}

	@Test
	void recordCostsOneStatement() {
		int unprotected = count(() -> transactions.executeWithoutResult((status) -> effect()));
		assertThat(count(() -> run(operation(0, OFFSETS.incrementAndGet())))).isEqualTo(unprotected + 1);
	}

	@Test
	void duplicateCostsOneStatement() {
		IdempotentOperation operation = operation(0, OFFSETS.incrementAndGet());
		run(operation);
		assertThat(count(() -> run(operation))).isOne();
	}

	@Test
	void batchOfSeveralPartitionsCostsOneStatement() {
		int unprotected = count(() -> transactions.executeWithoutResult((status) -> effect()));
		List<BatchItem> items = IntStream.range(0, 90)
			.mapToObj((i) -> new BatchItem(operation(1 + i % 3, OFFSETS.incrementAndGet()), 1 + i % 3))
			.toList();
		assertThat(count(() -> runAll(items))).isEqualTo(unprotected + 1);
		assertThat(count(() -> runAll(items))).as("duplicates").isOne();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	@Tag("promise-1")
	@Tag("promise-5")
	void recordsWhoseHandlerFailsOrIsBlockedAfterItHasCommittedItsTransactionRunAgain(boolean isBlocked) {
		RuntimeException error = isBlocked ? new OperationInProgressException("nested", Duration.ZERO)
				: new IllegalStateException("late");
		IdempotentOperation first = operation(0, OFFSETS.incrementAndGet());
		List<BatchItem> items = List.of(new BatchItem(first, 0),
				new BatchItem(operation(1, OFFSETS.incrementAndGet()), 1));
		assertThatThrownBy(() -> template.execute(first, ResultCodec.none(), () -> commitAndFail(error)))
			.isSameAs(error);
		BatchResult<Object> failed = template.executeAll(items, ResultCodec.none(),
				(due) -> List.of(commitAndFail(error)));
		assertThat(isBlocked ? failed.blocked().get(1) : failed.failure()).isSameAs(error);
		List<List<Integer>> runs = new ArrayList<>();
		template.executeAll(items, ResultCodec.none(), (due) -> {
			runs.add(due);
			return null;
		});
		assertThat(runs).containsExactly(List.of(0, 1));
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-5")
	void recordRunsAgainAfterTheRollbackOfTheCallerAlthoughItsHandlerHasCommitted() {
		IdempotentOperation operation = operation(0, OFFSETS.incrementAndGet());
		assertThatIllegalStateException().isThrownBy(() -> transactions.executeWithoutResult((status) -> template
			.execute(operation, ResultCodec.none(), () -> commitAndFail(new IllegalStateException("late")))));
		assertThat(template.<Object, RuntimeException>execute(operation, ResultCodec.none(), () -> null).duplicate())
			.isFalse();
	}

	private static Object commitAndFail(RuntimeException error) {
		jdbc.execute((ConnectionCallback<@Nullable Void>) (connection) -> {
			connection.commit();
			return null;
		});
		throw error;
	}

	@Test
	void raisedMarksAreHeapOnlyUpdates() {
		try (TestDatabase own = TestDatabase.create()) {
			SingleConnectionDataSource session = new SingleConnectionDataSource(own.pool().getJdbcUrl(),
					Servers.postgres().username(), Servers.postgres().password(), true);
			OffsetMarks marks = new JdbcIdempotencyStore(session, TestDatabase.TABLE, TestDatabase.TIMEOUT)
				.offsetMarks()
				.orElseThrow();
			TransactionTemplate inSession = new TransactionTemplate(new JdbcTransactionManager(session));
			for (int i = 0; i < 500; i++) {
				OffsetMark mark = new OffsetMark("scope", "topic", new UUID(1, 2), 0, i);
				inSession.executeWithoutResult((status) -> marks.raise(List.of(mark), false).get(0));
			}
			new JdbcTemplate(session).execute("SELECT pg_stat_force_next_flush()");
			Map<String, Object> updates = await().until(
					() -> own.jdbc()
						.queryForMap("SELECT n_tup_upd AS all_updates, n_tup_hot_upd AS hot_updates "
								+ "FROM pg_stat_user_tables WHERE relname = 'idempotency_record_offset'"),
					(row) -> (long) row.get("all_updates") >= 499);
			session.destroy();
			assertThat((long) updates.get("hot_updates")).isGreaterThanOrEqualTo(490);
		}
	}

	private static void effect() {
		jdbc.update("INSERT INTO effect VALUES ('x')");
	}

	private static IdempotentOperation operation(int partition, long offset) {
		return new IdempotentOperation(IdempotencyKey.of("scope", "topic-" + partition + "-" + offset), "payments",
				"topic", Mode.TRANSACTIONAL, null, TestDatabase.LEASE, TestDatabase.RETENTION,
				new OffsetPosition("topic", partition, offset, IDENTITY), null);
	}

	private static void run(IdempotentOperation operation) {
		template.<Object, RuntimeException>execute(operation, ResultCodec.none(), () -> {
			effect();
			return null;
		});
	}

	private static void runAll(List<BatchItem> items) {
		template.executeAll(items, ResultCodec.<@Nullable Object>none(), (due) -> {
			effect();
			return null;
		});
	}

	private static int count(Runnable action) {
		int before = STATEMENTS.get();
		action.run();
		return STATEMENTS.get() - before;
	}

}
