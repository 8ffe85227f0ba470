/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

import com.zaxxer.hikari.HikariDataSource;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.jdbc.JdbcOutboxStore;
import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxRelay;
import dev.idempotency.producer.KafkaOutboxPublisher;

/**
 * Compares a relay with a bare {@link KafkaTemplate}: the rate at which it publishes a
 * full outbox, and the latency of a message from its commit to a consumer.
 */
public final class OutboxBenchmark {

	private static final String DELAY = "--ack-delay=";

	private final OutboxSetUp setUp;

	private OutboxBenchmark(OutboxSetUp setUp) {
		this.setUp = setUp;
	}

	/**
	 * Run the benchmark.
	 * @param arguments empty, or {@code --ack-delay=5ms} for the rates alone, with a
	 * broker whose replies take so long
	 * @throws IOException if a server does not start
	 */
	public static void main(String[] arguments) throws IOException {
		try (Servers servers = Servers.start(); HikariDataSource pool = new HikariDataSource()) {
			Machine.describe(servers).lines().forEach((name, value) -> System.out.println("- " + name + ": " + value));
			pool.setJdbcUrl(String.valueOf(servers.properties().get("spring.datasource.url")));
			if (arguments.length > 0) {
				Duration delay = delay(arguments[0]);
				System.out.println("- Replies of the broker: " + delay.toMillis() + " ms late");
				try (SlowBroker slow = SlowBroker.start(delay)) {
					new OutboxThroughput(new OutboxSetUp(servers, pool, slow)).print();
				}
			}
			else {
				OutboxSetUp setUp = new OutboxSetUp(servers, pool, null);
				new OutboxThroughput(setUp).print();
				new OutboxBenchmark(setUp).latency();
			}
		}
		// Threads of the broker would keep the JVM running.
		System.exit(0);
	}

	private static Duration delay(String argument) {
		if (!argument.startsWith(DELAY)) {
			throw new IllegalArgumentException("Unknown option '" + argument + "'. Use " + DELAY + "5ms");
		}
		return DurationStyle.detectAndParse(argument.substring(DELAY.length()));
	}

	private void latency() {
		System.out.println("""

				| messages/s requested | KafkaTemplate: messages/s reached | send to consumer p50, p99 ms \
				| outbox: messages/s reached | commit to consumer p50, p99 ms |
				|---|---|---|---|---|""");
		KafkaOutboxPublisher publisher = this.setUp.publisher();
		JdbcOutboxStore store = this.setUp.store(Duration.ZERO);
		OutboxRelay relay = new OutboxRelay(store, publisher, OutboxSetUp.SETTINGS, List.of());
		Outbox outbox = this.setUp.outbox(store, relay::wake);
		relay.start();
		for (int rate : new int[] { 50, 500, 2000 }) {
			String topic = this.setUp.newTopic();
			try (OutboxLatency latency = new OutboxLatency(this.setUp.servers(), topic, rate)) {
				latency.run((number) -> {
					latency.sent(number);
					this.setUp.template().send(topic, key(number), String.valueOf(number));
				});
				List<Double> bare = latency.millis();
				double sent = latency.reached();
				latency.run((number) -> {
					this.setUp.inTransaction(() -> outbox.send(topic, key(number), String.valueOf(number)));
					latency.sent(number);
				});
				List<Double> relayed = latency.millis();
				System.out.println(String.format(Locale.ROOT, "| %d | %.0f | %.1f, %.1f | %.0f | %.1f, %.1f |", rate,
						sent, at(bare, 0.5), at(bare, 0.99), latency.reached(), at(relayed, 0.5), at(relayed, 0.99)));
			}
		}
		relay.stop();
		publisher.destroy();
	}

	private static String key(int number) {
		return "key-" + number % OutboxSetUp.KEYS;
	}

	private static double at(List<Double> sorted, double quantile) {
		return sorted.get((int) (quantile * (sorted.size() - 1)));
	}

}
