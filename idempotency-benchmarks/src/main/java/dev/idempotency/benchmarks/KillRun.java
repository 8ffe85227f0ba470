/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.ExecutionException;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * Kills the consumer of a peer repeatedly while it processes payments, of which 30 % are
 * sent twice, and counts the payments that were charged never or several times:
 * <ol>
 * <li>All records are sent. The second record of a payment follows the first one in the
 * same partition, up to 100 payments later.</li>
 * <li>A consumer starts at the committed offsets. It receives SIGKILL after a random
 * number of records.</li>
 * <li>After the last kill, a consumer processes the remaining records.</li>
 * </ol>
 */
final class KillRun {

	private static final int TWICE = 30;

	private static final int DISTANCE = 100;

	private static final Duration PATIENCE = Duration.ofMinutes(5);

	private final Peer peer;

	private final Servers servers;

	private final Map<String, Object> properties;

	private final String topic;

	private final int partitions;

	private final SplittableRandom random = new SplittableRandom();

	/**
	 * Create a run.
	 */
	KillRun(Peer peer, Servers servers, Map<String, Object> properties, String topic, int partitions) {
		this.peer = peer;
		this.servers = servers;
		this.properties = properties;
		this.topic = topic;
		this.partitions = partitions;
	}

	/**
	 * Run.
	 */
	Result run(int kills, int records) throws Exception {
		// Enough for a kill after the maximum each time.
		int payments = (kills + 1) * records * 100 / (100 + TWICE);
		Map<TopicPartition, Long> ends = send(payments);
		for (int i = 0; i < kills; i++) {
			try (PeerProcess process = start()) {
				int target = records / 2 + this.random.nextInt(records / 2);
				while (Integer.parseInt(process.await("received")[0]) < target) {
					// The next report follows.
				}
				// Not always immediately after the report.
				Thread.sleep(this.random.nextInt(20));
				process.kill();
			}
		}
		try (PeerProcess process = start()) {
			awaitCommit(ends);
			process.stop();
		}
		return count(kills, payments);
	}

	private PeerProcess start() throws IOException, InterruptedException {
		PeerProcess process = PeerProcess.start(this.peer, PeerApplication.PROGRESS, this.properties);
		process.await("ready");
		process.send("consume");
		return process;
	}

	private Map<TopicPartition, Long> send(int payments) {
		List<Sent> all = new ArrayList<>();
		for (int i = 0; i < payments; i++) {
			String key = new UUID(this.random.nextLong(), this.random.nextLong()).toString();
			all.add(new Sent(i, i % this.partitions, key));
			if ((i + 1L) * TWICE / 100 > (long) i * TWICE / 100) {
				all.add(new Sent(i + this.random.nextInt(DISTANCE * this.partitions), i % this.partitions, key));
			}
		}
		// A stable sort keeps the first record of a payment before the second one.
		all.sort(Comparator.comparingInt(Sent::position));
		Map<TopicPartition, Long> ends = new HashMap<>();
		for (Sent sent : all) {
			ProducerRecord<String, String> record = new ProducerRecord<>(this.topic, sent.partition(), null,
					"x".repeat(100));
			record.headers().add("Idempotency-Key", sent.key().getBytes(StandardCharsets.UTF_8));
			this.servers.producer().send(record);
			ends.merge(new TopicPartition(this.topic, sent.partition()), 1L, Long::sum);
		}
		this.servers.producer().flush();
		return ends;
	}

	private void awaitCommit(Map<TopicPartition, Long> ends) throws InterruptedException, ExecutionException {
		long deadline = System.nanoTime() + PATIENCE.toNanos();
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", this.servers.bootstrapServers()))) {
			Map<TopicPartition, Long> committed = new HashMap<>();
			while (!committed.equals(ends)) {
				if (System.nanoTime() > deadline) {
					throw new IllegalStateException(
							"The consumer of '" + this.peer + "' has committed " + committed + " of " + ends);
				}
				Thread.sleep(500);
				committed.clear();
				admin.listConsumerGroupOffsets(BenchmarkListener.PROTECTED)
					.partitionsToOffsetAndMetadata()
					.get()
					.forEach((partition, offset) -> add(committed, partition, offset));
			}
		}
	}

	private void add(Map<TopicPartition, Long> committed, TopicPartition partition, OffsetAndMetadata offset) {
		if (partition.topic().equals(this.topic)) {
			committed.put(partition, offset.offset());
		}
	}

	private Result count(int kills, int payments) {
		JdbcTemplate jdbc = PeersBenchmark.jdbc(this.properties);
		int charged = number(jdbc, "SELECT count(DISTINCT payment) FROM charge");
		int doubled = number(jdbc,
				"SELECT count(*) FROM (SELECT payment FROM charge GROUP BY payment " + "HAVING count(*) > 1) several");
		return new Result(kills, payments, payments - charged, doubled);
	}

	private static int number(JdbcTemplate jdbc, String sql) {
		Integer number = jdbc.queryForObject(sql, Integer.class);
		return (number != null) ? number : 0;
	}

	/**
	 * The result of a run.
	 *
	 * @param kills the number of kills
	 * @param payments the number of payments
	 * @param lost the number of payments without a charge
	 * @param doubled the number of payments with several charges
	 */
	record Result(int kills, int payments, int lost, int doubled) {

	}

	private record Sent(int position, int partition, String key) {

	}

}
