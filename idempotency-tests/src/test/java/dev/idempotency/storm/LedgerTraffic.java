/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Sends payments continuously, three in ten of them twice. Payments that the broker does
 * not acknowledge are sent again.
 */
final class LedgerTraffic implements AutoCloseable {

	static final int PARTITIONS = 6;

	static final int ACCOUNTS = 20;

	private static final int IN_HAND = 50;

	// The profile "storm" sends more than twice as much.
	private static final long PACE = Duration.ofMillis((System.getProperty("test.storm") != null) ? 5 : 12).toNanos();

	private final Queue<Sent> unconfirmed = new ArrayDeque<>();

	private final KafkaProducer<String, String> producer;

	private final String topic;

	private final Random random;

	private final Thread thread = new Thread(this::run);

	private volatile boolean stopped;

	private volatile int payments;

	LedgerTraffic(String servers, String topic, Random random) {
		this.topic = topic;
		this.random = random;
		this.producer = new KafkaProducer<>(Map.of("bootstrap.servers", servers, "max.block.ms", 5000,
				"request.timeout.ms", 5000, "delivery.timeout.ms", 10_000), new StringSerializer(),
				new StringSerializer());
		this.thread.start();
	}

	private void run() {
		for (long due = System.nanoTime(); !this.stopped; due += PACE) {
			LockSupport.parkNanos(due - System.nanoTime());
			String payment = "p" + this.payments;
			int copies = (this.random.nextInt(10) < 3) ? 2 : 1;
			String account = "a" + this.random.nextInt(ACCOUNTS);
			for (int copy = 0; copy < copies; copy++) {
				send(new ProducerRecord<>(this.topic, this.random.nextInt(PARTITIONS), null, payment + " " + account));
			}
			this.payments++;
			confirm(IN_HAND);
		}
		confirm(0);
	}

	private void send(ProducerRecord<String, String> record) {
		String payment = record.value().substring(0, record.value().indexOf(' '));
		record.headers().add("Idempotency-Key", payment.getBytes(StandardCharsets.UTF_8));
		this.unconfirmed.add(new Sent(record, this.producer.send(record)));
	}

	private void confirm(int rest) {
		while (this.unconfirmed.size() > rest) {
			Sent next = this.unconfirmed.remove();
			try {
				next.confirmation().get();
			}
			catch (Exception ex) {
				send(new ProducerRecord<>(next.record().topic(), next.record().partition(), null,
						next.record().value()));
			}
		}
	}

	int payments() {
		return this.payments;
	}

	// Waits until all started payments are sent.
	int end() throws InterruptedException {
		this.stopped = true;
		this.thread.join();
		return this.payments;
	}

	@Override
	public void close() {
		this.stopped = true;
		this.producer.close();
	}

	private record Sent(ProducerRecord<String, String> record, Future<?> confirmation) {

	}

}
