/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.soak;

import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;

import org.apache.kafka.clients.producer.ProducerRecord;

import dev.idempotency.testsupport.Kafka;

/**
 * Sends payments at a steady rate. One in ten records repeats one of the last thousand
 * payments.
 */
final class SoakTraffic implements AutoCloseable {

	static final int PARTITIONS = 4;

	private static final int ACCOUNTS = 200;

	private static final int REPEATED = 10;

	private static final int RECENT = 1000;

	private final String topic;

	private final int perSecond;

	private final RandomGenerator random;

	private final Thread thread = new Thread(this::send, "soak-traffic");

	private volatile boolean ended;

	private volatile long payments;

	private volatile long records;

	SoakTraffic(String topic, int perSecond, RandomGenerator random) {
		this.topic = topic;
		this.perSecond = perSecond;
		this.random = random;
		this.thread.start();
	}

	private void send() {
		long start = System.nanoTime();
		while (!this.ended) {
			long due = start + (long) (1e9 / this.perSecond * this.records);
			if (due > System.nanoTime()) {
				LockSupport.parkNanos(due - System.nanoTime());
				continue;
			}
			boolean repeats = this.payments > RECENT && this.random.nextInt(REPEATED) == 0;
			send(repeats ? this.payments - 1 - this.random.nextInt(RECENT) : this.payments++);
			this.records++;
		}
	}

	// The records of a payment and those of an account are in one partition each.
	private void send(long number) {
		long account = number % ACCOUNTS;
		ProducerRecord<String, String> record = Kafka.record(this.topic, (int) (account % PARTITIONS), "p" + number,
				number + " a" + account + " " + (number / ACCOUNTS + 1));
		Kafka.sendSoon(record);
	}

	long records() {
		return this.records;
	}

	// Stops sending, and returns the number of payments.
	long end() throws InterruptedException {
		this.ended = true;
		this.thread.join();
		return this.payments;
	}

	@Override
	public void close() throws InterruptedException {
		end();
	}

}
