/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;

import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxObserver;
import dev.idempotency.outbox.OutboxPublisher;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.producer.KafkaOutboxPublisher;

/**
 * Measures the rate at which a relay publishes a full outbox, in turn with a bare
 * template that sends the same messages.
 */
final class OutboxThroughput {

	private static final int MESSAGES = 50_000;

	private static final int PER_TRANSACTION = 500;

	private static final int ROUNDS = 5;

	private static final Duration DEFAULT_RETENTION = Duration.ofDays(1);

	private static final String PAYLOAD = "x".repeat(200);

	private final OutboxSetUp setUp;

	OutboxThroughput(OutboxSetUp setUp) {
		this.setUp = setUp;
	}

	void print() {
		System.out.println("""

				| messages, keys, retention | KafkaTemplate: messages/s | relay: messages/s | ratio (range) \
				| relay without a broker: messages/s |
				|---|---|---|---|---|""");
		print(MESSAGES, OutboxSetUp.KEYS, Duration.ZERO);
		print(MESSAGES, 1, Duration.ZERO);
		print(MESSAGES, OutboxSetUp.KEYS, DEFAULT_RETENTION);
	}

	// Published messages that are kept stay in the table until the last round has ended.
	private void print(int messages, int keys, Duration retention) {
		JdbcOutboxStore store = this.setUp.store(retention);
		List<Double> sent = new ArrayList<>();
		List<Double> relayed = new ArrayList<>();
		List<Double> ratios = new ArrayList<>();
		List<Double> withoutBroker = new ArrayList<>();
		for (int round = -1; round < ROUNDS; round++) {
			String topic = this.setUp.newTopic();
			double bare = rate(messages, () -> send(topic, messages, keys));
			fill(store, this.setUp.newTopic(), messages, keys);
			this.setUp.vacuum();
			double relay = rate(messages, () -> drain(store, messages));
			fill(store, this.setUp.newTopic(), messages, keys);
			this.setUp.vacuum();
			double database = rate(messages, () -> drain(store, messages, new NoBroker()));
			// The first round warms up.
			if (round >= 0) {
				sent.add(bare);
				relayed.add(relay);
				ratios.add(relay / bare);
				withoutBroker.add(database);
			}
		}
		this.setUp.empty();
		System.out.println(String.format(Locale.ROOT, "| %d, %d, %s | %.0f | %.0f | **%.2f** (%.2f–%.2f) | %.0f |",
				messages, keys, retention.isZero() ? "0" : retention.toDays() + "d", median(sent), median(relayed),
				median(ratios), Collections.min(ratios), Collections.max(ratios), median(withoutBroker)));
	}

	private static double rate(int messages, Runnable work) {
		long start = System.nanoTime();
		work.run();
		return messages / ((System.nanoTime() - start) / 1e9);
	}

	private void send(String topic, int messages, int keys) {
		CompletableFuture
			.allOf(IntStream.range(0, messages)
				.mapToObj((i) -> this.setUp.template().send(topic, "key-" + i % keys, PAYLOAD))
				.toArray(CompletableFuture[]::new))
			.join();
	}

	private void fill(JdbcOutboxStore store, String topic, int messages, int keys) {
		Outbox outbox = this.setUp.outbox(store, () -> {
		});
		for (int start = 0; start < messages; start += PER_TRANSACTION) {
			List<OutboxMessage> part = IntStream.range(start, start + PER_TRANSACTION)
				.mapToObj((i) -> OutboxMessage.to(topic).key("key-" + i % keys).payload(PAYLOAD).build())
				.toList();
			this.setUp.inTransaction(() -> outbox.send(part));
		}
	}

	private void drain(JdbcOutboxStore store, int messages) {
		KafkaOutboxPublisher publisher = this.setUp.publisher();
		drain(store, messages, publisher);
		publisher.destroy();
	}

	private static void drain(JdbcOutboxStore store, int messages, OutboxPublisher publisher) {
		CountDownLatch published = new CountDownLatch(messages);
		OutboxObserver counter = new OutboxObserver() {

			@Override
			public void attempted(OutboxRow row, PublishOutcome outcome, Duration elapsed) {
				published.countDown();
			}

		};
		OutboxRelay relay = new OutboxRelay(store, publisher, OutboxSetUp.SETTINGS, List.of(counter));
		relay.start();
		try {
			published.await();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		relay.stop();
	}

	private static double median(List<Double> values) {
		return values.stream().sorted().toList().get((values.size() - 1) / 2);
	}

	/**
	 * Acknowledges messages at once, so that only the work of the database and of the
	 * relay remains.
	 */
	private static final class NoBroker implements OutboxPublisher {

		@Override
		public int maxBytesInFlight() {
			return Integer.MAX_VALUE;
		}

		@Override
		public CompletionStage<?> publish(OutboxRow row) {
			return CompletableFuture.completedFuture(null);
		}

		@Override
		public FailureKind kindOf(Throwable error) {
			return FailureKind.UNAVAILABLE;
		}

	}

}
