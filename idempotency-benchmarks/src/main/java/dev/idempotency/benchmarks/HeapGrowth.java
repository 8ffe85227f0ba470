/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Measures the heap of a protected consumer after garbage collections during steady
 * traffic, and extrapolates its slope to an hour.
 */
final class HeapGrowth {

	private static final List<Peer> PEERS = List.of(Peer.TRANSACTIONAL, Peer.LEASED_JDBC, Peer.LEASED_REDIS);

	private static final int PARTITIONS = 4;

	private static final int SAMPLES_PER_MINUTE = 6;

	private static final int PAUSE = 2000;

	// Every tenth record repeats a key.
	private static final int REPETITION = 10;

	private final Servers servers;

	private final int minutes;

	private final int rate;

	HeapGrowth(Servers servers, int minutes, int rate) {
		this.servers = servers;
		this.minutes = minutes;
		this.rate = rate;
	}

	String run() throws Exception {
		StringBuilder table = new StringBuilder(
				"""

						### Heap of the consumer

						| mode | records | heap after GC at the first third, KB | at the end, KB | slope, KB per hour | bytes per record |
						|---|---|---|---|---|---|
						""");
		for (Peer peer : PEERS) {
			table.append(run(peer));
		}
		return table.toString();
	}

	private String run(Peer peer) throws Exception {
		String topic = this.servers.newTopic(PARTITIONS);
		Map<String, Object> properties = new LinkedHashMap<>(this.servers.properties());
		properties.put("benchmark.topic", topic);
		properties.put("benchmark.partitions", "0-" + (PARTITIONS - 1));
		properties.put("spring.kafka.listener.concurrency", 2);
		properties.putAll(peer.properties());
		List<double[]> samples = new ArrayList<>();
		int sent = 0;
		try (PeerProcess process = PeerProcess.start(peer, PeerApplication.PROGRESS, properties)) {
			process.await("ready");
			process.send("consume");
			long start = System.nanoTime();
			for (int i = 1; i <= this.minutes * SAMPLES_PER_MINUTE; i++) {
				sent += traffic(topic, start, sent, TimeUnit.MINUTES.toNanos(i) / SAMPLES_PER_MINUTE);
				// Records that the consumer has polled are not part of the growth.
				Thread.sleep(PAUSE);
				process.send("heap");
				samples.add(new double[] { (System.nanoTime() - start) / 3.6e12,
						Long.parseLong(process.await("heap")[0]) / 1024.0 });
				System.out.printf(Locale.ROOT, "%s: %,d records, %,.0f KB%n", peer, sent,
						samples.get(samples.size() - 1)[1]);
			}
		}
		// Class loading, compilation and pools fill the heap at first.
		List<double[]> steady = samples.subList(samples.size() / 3, samples.size());
		double slope = slope(steady);
		return String.format(Locale.ROOT, "| %s | %,d | %,.0f | %,.0f | %+,.0f | %+.2f |%n", peer.title(), sent,
				steady.get(0)[1], steady.get(steady.size() - 1)[1], slope, slope * 1024 / (this.rate * 3600.0));
	}

	private int traffic(String topic, long start, int before, long until) {
		int count = 0;
		String key = UUID.randomUUID().toString();
		for (long now = 0; now < until; now = System.nanoTime() - start) {
			while ((before + count) * 1e9 / this.rate < now) {
				if (count % REPETITION != 0) {
					key = UUID.randomUUID().toString();
				}
				ProducerRecord<String, String> record = new ProducerRecord<>(topic,
						Math.floorMod(key.hashCode(), PARTITIONS), null, "x".repeat(100));
				record.headers().add("Idempotency-Key", key.getBytes(StandardCharsets.UTF_8));
				this.servers.producer().send(record);
				count++;
			}
			LockSupport.parkNanos(1_000_000);
		}
		return count;
	}

	// Least squares.
	private static double slope(List<double[]> samples) {
		double x = samples.stream().mapToDouble((sample) -> sample[0]).average().orElse(0);
		double y = samples.stream().mapToDouble((sample) -> sample[1]).average().orElse(0);
		double products = samples.stream().mapToDouble((sample) -> (sample[0] - x) * (sample[1] - y)).sum();
		double squares = samples.stream().mapToDouble((sample) -> (sample[0] - x) * (sample[0] - x)).sum();
		return products / squares;
	}

}
