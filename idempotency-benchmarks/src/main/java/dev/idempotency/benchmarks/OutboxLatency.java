/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Sends numbers at a steady rate and measures the latency of each to a consumer with one
 * clock.
 */
final class OutboxLatency implements AutoCloseable {

	private static final Duration WARM_UP = Duration.ofSeconds(5);

	private static final Duration TIME = Duration.ofSeconds(15);

	private final Map<Integer, Long> sent = new ConcurrentHashMap<>();

	private final Map<Integer, Long> received = new ConcurrentHashMap<>();

	private final KafkaConsumer<String, String> consumer;

	private final Thread thread = new Thread(this::consume);

	private final int rate;

	private volatile boolean closed;

	private int number;

	private int measuredFrom;

	private double reached;

	OutboxLatency(Servers servers, String topic, int rate) {
		this.rate = rate;
		this.consumer = new KafkaConsumer<>(
				Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG,
						servers.properties().get("spring.kafka.bootstrap-servers"),
						ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest"),
				new StringDeserializer(), new StringDeserializer());
		List<PartitionInfo> partitions = this.consumer.partitionsFor(topic);
		this.consumer
			.assign(partitions.stream().map((info) -> new TopicPartition(info.topic(), info.partition())).toList());
		this.thread.start();
	}

	private void consume() {
		while (!this.closed) {
			for (ConsumerRecord<String, String> record : this.consumer.poll(Duration.ofMillis(100))) {
				int received = Integer.parseInt(record.value());
				// Other messages only initialize the topic.
				if (received >= 0) {
					this.received.putIfAbsent(received, System.nanoTime());
				}
			}
		}
		this.consumer.close();
	}

	/**
	 * Send messages one after the other.
	 */
	void run(IntConsumer work) {
		this.measuredFrom = this.number + (int) (WARM_UP.toSeconds() * this.rate);
		int end = this.measuredFrom + (int) (TIME.toSeconds() * this.rate);
		long start = System.nanoTime();
		long measuring = start;
		for (int i = 0; this.number < end; i++) {
			long due = start + i * 1_000_000_000L / this.rate;
			while (System.nanoTime() < due) {
				LockSupport.parkNanos(due - System.nanoTime());
			}
			if (this.number == this.measuredFrom) {
				measuring = System.nanoTime();
			}
			work.accept(this.number++);
		}
		this.reached = (end - this.measuredFrom) * 1e9 / (System.nanoTime() - measuring);
		while (this.received.size() < this.number) {
			LockSupport.parkNanos(1_000_000);
		}
	}

	void sent(int which) {
		this.sent.put(which, System.nanoTime());
	}

	/**
	 * The rate that was reached, which can be below the requested one because the sender
	 * waits for each message.
	 */
	double reached() {
		return this.reached;
	}

	// A message can arrive before the commit returns to its sender.
	List<Double> millis() {
		return this.sent.entrySet()
			.stream()
			.filter((entry) -> entry.getKey() >= this.measuredFrom)
			.map((entry) -> Math.max(0, this.received.getOrDefault(entry.getKey(), Long.MAX_VALUE) - entry.getValue())
					/ 1e6)
			.sorted()
			.toList();
	}

	@Override
	public void close() {
		this.closed = true;
		try {
			this.thread.join();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
