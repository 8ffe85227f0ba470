/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.TimeOrderedUuid;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for relays while an open transaction, for instance of a dump, is older than many
 * published messages. With {@code -Dtest.snapshot.rows=1000000} it also measures.
 */
@Tag("promise-1")
class OutboxSnapshotTests {

	private static final String TABLE = "idempotency_outbox";

	private static final int ROWS = Integer.getInteger("test.snapshot.rows", 5000);

	private static final boolean MEASURED = Integer.getInteger("test.snapshot.rows") != null;

	private static final int MESSAGES = 2000;

	private static final int KEYS = 100;

	private static final int CLAIMS = 21;

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	private final List<Integer> published = new CopyOnWriteArrayList<>();

	private TransactionTemplate transactions;

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), this.database.pool(), TABLE);
		this.transactions = new TransactionTemplate(new JdbcTransactionManager(this.database.pool()));
	}

	private JdbcOutboxStore store() {
		return new JdbcOutboxStore(this.database.pool(), new JdbcTransactionManager(this.database.pool()), TABLE,
				Duration.ofSeconds(20), Duration.ofMillis(1), false);
	}

	private void fill() {
		this.database.jdbc()
			.update("""
					INSERT INTO idempotency_outbox (id, lane, aggregatetype, aggregateid, type, topic, message_key, payload,
					  idempotency_key)
					SELECT gen_random_uuid(), i % 64, 'account', '1', 'charged', 'topic', convert_to('key' || i % 1000, 'UTF8'),
					  convert_to(repeat('x', 200), 'UTF8'), i FROM generate_series(1, ?) i""",
					ROWS);
	}

	private void send(JdbcOutboxStore store) {
		for (int i = 0; i < MESSAGES; i += 500) {
			List<OutboxRow> rows = IntStream.range(i, i + 500)
				.mapToObj((number) -> new OutboxRow(TimeOrderedUuid.next(), "topic",
						("key" + number % KEYS).getBytes(StandardCharsets.UTF_8), new byte[200], List.of(),
						String.valueOf(number), "a", "1", "b"))
				.toList();
			this.transactions.executeWithoutResult((status) -> store.insert(rows));
		}
	}

	private OutboxRelay relay(JdbcOutboxStore store) {
		return new OutboxRelay(store, new Recorder(), new OutboxRelay.Settings(500, Duration.ofMillis(20),
				Duration.ofSeconds(20), 10, Duration.ofSeconds(1), Duration.ofSeconds(1), 1), List.of());
	}

	private long publishAll(JdbcOutboxStore... stores) {
		this.published.clear();
		send(stores[0]);
		List<OutboxRelay> relays = Arrays.stream(stores).map(this::relay).toList();
		long start = System.nanoTime();
		relays.forEach(OutboxRelay::start);
		Awaitility.await()
			.pollInterval(Duration.ofMillis(5))
			.atMost(Duration.ofMinutes(5))
			.until(() -> this.published.size() >= MESSAGES);
		long millis = Duration.ofNanos(System.nanoTime() - start).toMillis();
		relays.forEach(OutboxRelay::stop);
		assertThat(this.published).hasSize(MESSAGES).doesNotHaveDuplicates();
		for (int key = 0; key < KEYS; key++) {
			int one = key;
			assertThat(this.published.stream().filter((number) -> number % KEYS == one)).isSorted();
		}
		return MESSAGES * 1000L / Math.max(millis, 1);
	}

	@Test
	void messagesArePublishedInOrderWithoutLossUnderAnOpenSnapshot() throws SQLException {
		fill();
		JdbcOutboxStore first = store();
		JdbcOutboxStore second = store();
		try (Connection dump = this.database.pool().getConnection()) {
			dump.setAutoCommit(false);
			dump.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
			SqlStatement.of("SELECT count(*) FROM idempotency_outbox").update(dump, Parameters.none());
			this.database.jdbc().update("UPDATE idempotency_outbox SET published_at = now()");
			long rate = publishAll(first, second);
			if (MEASURED) {
				say(ROWS + " messages published since the snapshot: the first claim of a relay takes "
						+ microsOfTheFirstClaim() + " us, a later one " + microsOfClaims(first) + " us, status() "
						+ microsOfAStatus(first) + " us; published " + rate + "/s");
			}
			dump.rollback();
			dump.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
			dump.setAutoCommit(true);
		}
		if (MEASURED) {
			this.database.jdbc().execute("VACUUM ANALYZE idempotency_outbox");
			long normal = microsOfClaims(first);
			say("without the snapshot a claim takes " + normal + " us, status() " + microsOfAStatus(first) + " us");
			cleanUp(first);
		}
	}

	// First one after the other, then the publication during the cleanup.
	private void cleanUp(JdbcOutboxStore store) {
		long alone = publishAll(store);
		AtomicBoolean over = new AtomicBoolean();
		CompletableFuture<Integer> deleted = CompletableFuture.supplyAsync(() -> {
			int rows = 0;
			while (!over.get()) {
				rows += store.expired().deleteExpired(1000, Duration.ZERO);
			}
			return rows;
		});
		long start = System.nanoTime();
		long beside = publishAll(store);
		beside = (beside + publishAll(store)) / 2;
		over.set(true);
		double seconds = (System.nanoTime() - start) / 1e9;
		say("published " + alone + "/s alone, " + beside + "/s beside a cleanup that deletes "
				+ Math.round(deleted.join() / seconds) + "/s");
	}

	private static void say(String text) {
		System.out.println("Outbox: " + text);
	}

	// The first claim of a relay has no marks.
	private long microsOfTheFirstClaim() {
		long[] micros = new long[3];
		for (int i = 0; i < micros.length; i++) {
			micros[i] = microsOfAClaim(store());
		}
		Arrays.sort(micros);
		return micros[1];
	}

	private static long microsOfClaims(JdbcOutboxStore store) {
		long[] micros = new long[CLAIMS];
		for (int i = 0; i < micros.length; i++) {
			micros[i] = microsOfAClaim(store);
		}
		Arrays.sort(micros);
		return micros[micros.length / 2];
	}

	private static long microsOfAClaim(JdbcOutboxStore store) {
		long start = System.nanoTime();
		try (OutboxStore.Claim claim = store.claim(500, Set.of())) {
			assertThat(claim.rows()).isEmpty();
		}
		return (System.nanoTime() - start) / 1000;
	}

	private static long microsOfAStatus(JdbcOutboxStore store) {
		long[] micros = new long[CLAIMS];
		for (int i = 0; i < micros.length; i++) {
			long start = System.nanoTime();
			store.status();
			micros[i] = (System.nanoTime() - start) / 1000;
		}
		Arrays.sort(micros);
		return micros[micros.length / 2];
	}

	/**
	 * A broker that takes everything.
	 */
	private final class Recorder implements OutboxPublisher {

		@Override
		public CompletionStage<?> publish(OutboxRow row) {
			OutboxSnapshotTests.this.published.add(Integer.valueOf(row.idempotencyKey()));
			return CompletableFuture.completedFuture(null);
		}

		@Override
		public FailureKind kindOf(Throwable error) {
			return FailureKind.UNAVAILABLE;
		}

	}

}
