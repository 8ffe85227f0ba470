/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the second thread of a relay, which helps with a backlog.
 */
class BacklogTests {

	private static final int BATCH = 500;

	// A claim locks half of the lanes, and these keys are in all of them.
	private static final int KEYS = 500;

	private static final Duration LONG = Duration.ofSeconds(30);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final String table = Servers.unique("outbox_");

	private final Queue<String> published = new ConcurrentLinkedQueue<>();

	private final Set<String> threads = ConcurrentHashMap.newKeySet();

	private final Queue<String> stopped = new ConcurrentLinkedQueue<>();

	private final CountDownLatch both = new CountDownLatch(2);

	private JdbcOutboxStore store;

	private OutboxRelay relay;

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(database.pool(), database.pool(), this.table);
		this.store = new JdbcOutboxStore(database.pool(), new JdbcTransactionManager(database.pool()), this.table,
				Duration.ofSeconds(5), Duration.ZERO, false);
	}

	@AfterEach
	void stop() {
		this.relay.stop();
	}

	private void send(int messages, int keys) {
		send(IntStream.range(0, messages).mapToObj((i) -> row(i % keys, i)).toList());
	}

	private static OutboxRow row(int key, int number) {
		return new OutboxRow(TimeOrderedUuid.next(), "topic", ("key" + key).getBytes(StandardCharsets.UTF_8),
				new byte[1], List.of(), key + ":" + number, "a", "1", "b");
	}

	private void send(List<OutboxRow> rows) {
		new TransactionTemplate(new JdbcTransactionManager(database.pool()))
			.executeWithoutResult((status) -> this.store.insert(rows));
	}

	private void start(int threads, Function<String, CompletionStage<?>> broker, OutboxObserver... listeners) {
		start(threads, Duration.ofMillis(100), broker, listeners);
	}

	private void start(int threads, Duration pollInterval, Function<String, CompletionStage<?>> broker,
			OutboxObserver... listeners) {
		this.relay = new OutboxRelay(this.store, new Publisher(broker, this.stopped),
				new OutboxRelay.Settings(BATCH, pollInterval, LONG, 10, Duration.ofMillis(250), LONG, threads),
				List.of(listeners));
		this.relay.start();
	}

	private CompletionStage<?> accept(String key) {
		this.threads.add(Thread.currentThread().getName());
		this.published.add(key);
		return CompletableFuture.completedFuture(null);
	}

	private void awaitPublished(int messages) {
		Awaitility.await().atMost(LONG).untilAsserted(() -> assertThat(this.store.status().pending()).isZero());
		assertThat(this.published).hasSize(messages).doesNotHaveDuplicates();
		this.published.stream()
			.map((key) -> key.split(":"))
			.collect(Collectors.groupingBy((key) -> key[0],
					Collectors.mapping((key) -> Integer.valueOf(key[1]), Collectors.toList())))
			.values()
			.forEach((ofKey) -> assertThat(ofKey).isSorted());
	}

	@Test
	@Tag("promise-14")
	void secondThreadPublishesWhileTheFirstWaitsForTheBroker() {
		send(10 * BATCH, KEYS);
		start(2, this::acceptFromBoth);
		awaitPublished(10 * BATCH);
		assertThat(this.threads).containsExactlyInAnyOrder("idempotency-outbox-relay", "idempotency-outbox-relay-2");
	}

	// The first thread gets no answer until the second one publishes.
	private CompletionStage<?> acceptFromBoth(String key) {
		awaitBoth();
		return accept(key);
	}

	private void awaitBoth() {
		if (this.threads.add(Thread.currentThread().getName())) {
			this.both.countDown();
		}
		await(this.both);
	}

	// The second thread finds nothing while all messages have the same key.
	@Test
	void secondThreadHelpsAtOnceWithTheBacklogAfterThatOfAHotKey() {
		send(10 * BATCH, 1);
		AtomicBoolean hot = new AtomicBoolean(true);
		start(2, (key) -> hot.get() ? accept(key) : acceptFromBoth(key));
		awaitPublished(10 * BATCH);
		// The first backlog has ended when this round finds only one message.
		send(List.of(row(0, 10 * BATCH)));
		awaitPublished(10 * BATCH + 1);
		this.published.clear();
		this.threads.clear();
		hot.set(false);
		send(10 * BATCH, KEYS);
		awaitPublished(10 * BATCH);
		assertThat(this.threads).containsExactlyInAnyOrder("idempotency-outbox-relay", "idempotency-outbox-relay-2");
	}

	private static void await(CountDownLatch latch) {
		try {
			assertThat(latch.await(LONG.toSeconds(), TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	// The second thread gets the lane that is left, and the first one skips this lane.
	@Test
	@Tag("promise-14")
	void messagesThatAreSentDuringARoundOfTheSecondThreadDoNotWaitForThePollInterval() {
		int ofEachKey = 10;
		List<Integer> keys = keysOfDifferentLanes(33);
		send(keys.stream().flatMap((key) -> IntStream.range(0, ofEachKey).mapToObj((i) -> row(key, i))).toList());
		CompletableFuture<Integer> second = new CompletableFuture<>();
		start(2, Duration.ofMinutes(10), (key) -> {
			boolean slow = Thread.currentThread().getName().endsWith("2");
			if (slow) {
				second.complete(Integer.valueOf(key.substring(0, key.indexOf(':'))));
			}
			// The first thread leaves messages to the second one.
			return slow
					? CompletableFuture.supplyAsync(() -> accept(key),
							CompletableFuture.delayedExecutor(1, TimeUnit.SECONDS))
					: second.thenApply((any) -> accept(key));
		});
		send(List.of(row(second.orTimeout(LONG.toSeconds(), TimeUnit.SECONDS).join(), ofEachKey)));
		this.relay.wake();
		awaitPublished(33 * ofEachKey + 1);
	}

	private List<Integer> keysOfDifferentLanes(int count) {
		send(KEYS, KEYS);
		List<Integer> keys = database.jdbc()
			.queryForList("SELECT DISTINCT ON (lane) split_part(idempotency_key, ':', 1)::int FROM " + this.table,
					Integer.class);
		database.jdbc().execute("DELETE FROM " + this.table);
		return keys.subList(0, count);
	}

	@Test
	void fewMessagesNeedOneThread() {
		start(2, this::accept);
		for (int i = 0; i < 20; i++) {
			this.published.clear();
			send(BATCH / 4, KEYS);
			this.relay.wake();
			awaitPublished(BATCH / 4);
		}
		assertThat(this.threads).containsExactly("idempotency-outbox-relay");
	}

	@Test
	void backlogNeedsOneThreadIfTheApplicationWantsSo() {
		send(10 * BATCH, KEYS);
		start(1, this::accept);
		awaitPublished(10 * BATCH);
		assertThat(this.threads).containsExactly("idempotency-outbox-relay");
	}

	// The second thread holds half of the ordering keys until the broker answers it.
	@Test
	@Tag("promise-1")
	void stopPublishesTheBacklogOfBothThreads() {
		send(10 * BATCH, KEYS);
		CountDownLatch second = new CountDownLatch(1);
		start(2, (key) -> {
			boolean slow = Thread.currentThread().getName().endsWith("2");
			if (slow) {
				second.countDown();
			}
			return CompletableFuture.supplyAsync(() -> accept(key),
					CompletableFuture.delayedExecutor(slow ? 1000 : 1, TimeUnit.MILLISECONDS));
		});
		await(second);
		this.relay.stop();
		assertThat(this.store.status().pending()).isZero();
		awaitPublished(10 * BATCH);
		assertThat(this.stopped).containsExactlyInAnyOrder("idempotency-outbox-relay", "idempotency-outbox-relay-2");
	}

	// Both threads send before the broker is unavailable.
	@Test
	@Tag("promise-11")
	void outageOfBothThreadsIsLoggedOnce() {
		send(10 * BATCH, KEYS);
		AtomicBoolean available = new AtomicBoolean();
		Set<String> failed = ConcurrentHashMap.newKeySet();
		try (Logs logs = Logs.about("'" + this.table + "'")) {
			start(2, (key) -> {
				if (available.get()) {
					return accept(key);
				}
				awaitBoth();
				return CompletableFuture.failedFuture(new IllegalStateException("unavailable"));
			}, new OutboxObserver() {

				@Override
				public void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
					failed.add(Thread.currentThread().getName());
				}

			});
			Awaitility.await().untilAsserted(() -> assertThat(failed).hasSize(2));
			available.set(true);
			awaitPublished(10 * BATCH);
			this.relay.stop();
			assertThat(logs.messages("WARN")).hasSize(1);
			assertThat(logs.messages("INFO")).hasSize(1);
		}
	}

	/**
	 * A publisher that has others.
	 */
	private record Publisher(Function<String, CompletionStage<?>> broker,
			Queue<String> stopped) implements OutboxPublisher {

		@Override
		public OutboxPublisher another() {
			return new Publisher(this.broker, this.stopped);
		}

		@Override
		public void relayStopped() {
			this.stopped.add(Thread.currentThread().getName());
		}

		@Override
		public CompletionStage<?> publish(OutboxRow row) {
			return this.broker.apply(row.idempotencyKey());
		}

		@Override
		public FailureKind kindOf(Throwable error) {
			return FailureKind.UNAVAILABLE;
		}

	}

}
