/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.TimeoutException;

import dev.idempotency.testsupport.Kafka;

/**
 * Sends payments, three in ten of them twice. Half of the copies are sent at the same
 * time to another partition, the others later to any partition.
 */
final class PaymentTraffic implements Traffic {

	static final int PARTITIONS = 12;

	private static final int LATER = 200;

	private final String topic;

	private final Random random;

	private final boolean copies;

	private final Function<ProducerRecord<String, String>, Future<RecordMetadata>> sender;

	private final Map<String, Long> payments = new LinkedHashMap<>();

	private final Map<String, Long> sent = new HashMap<>();

	private final Queue<String> later = new ArrayDeque<>();

	private final Queue<Sent> unconfirmed = new ArrayDeque<>();

	private int records;

	PaymentTraffic(String topic, Random random) {
		this(topic, random, true);
	}

	/**
	 * Create traffic.
	 * @param topic the topic
	 * @param random the source of randomness
	 * @param copies whether some payments are sent twice
	 */
	PaymentTraffic(String topic, Random random, boolean copies) {
		this(topic, random, copies, Kafka::sendSoon);
	}

	PaymentTraffic(String topic, Random random, boolean copies,
			Function<ProducerRecord<String, String>, Future<RecordMetadata>> sender) {
		this.sender = sender;
		this.copies = copies;
		this.topic = topic;
		this.random = random;
	}

	@Override
	public void send(int count) throws InterruptedException, ExecutionException {
		send(count, Duration.ZERO);
	}

	// Spreads the payments evenly over the duration.
	void send(int count, Duration time) throws InterruptedException, ExecutionException {
		long start = System.nanoTime();
		for (int number = 0; number < count; number++) {
			long due = start + time.toNanos() / count * number;
			while (due > System.nanoTime()) {
				LockSupport.parkNanos(due - System.nanoTime());
			}
			sendOne();
			if (this.later.size() > LATER) {
				sendLater();
			}
		}
		end();
	}

	// Sends payments at the same distance until the condition is met, whether the broker
	// has acknowledged the earlier ones or not.
	void sendUntil(BooleanSupplier ended, Duration distance) throws InterruptedException, ExecutionException {
		for (long due = System.nanoTime(); !ended.getAsBoolean(); due += distance.toNanos()) {
			LockSupport.parkNanos(due - System.nanoTime());
			sendOne();
			if (this.later.size() > LATER) {
				sendLater();
			}
		}
		end();
	}

	private void end() throws InterruptedException, ExecutionException {
		while (!this.later.isEmpty()) {
			sendLater();
		}
		confirm();
	}

	// Sends all payments again.
	void repeat() throws InterruptedException, ExecutionException {
		this.payments.forEach((id, amount) -> send(this.random.nextInt(PARTITIONS), id + " " + amount));
		confirm();
	}

	// Payments that the broker has not acknowledged in time are sent again, so the topic
	// may contain them twice.
	private void confirm() throws InterruptedException, ExecutionException {
		while (!this.unconfirmed.isEmpty()) {
			Sent next = this.unconfirmed.remove();
			try {
				next.future().get();
			}
			catch (ExecutionException ex) {
				if (!(ex.getCause() instanceof TimeoutException)) {
					throw ex;
				}
				send(next.record());
			}
		}
	}

	private void sendOne() {
		String id = "p" + this.payments.size();
		long amount = 1 + this.random.nextInt(10_000);
		this.payments.put(id, amount);
		this.sent.put(id, System.currentTimeMillis());
		String payment = id + " " + amount;
		int partition = this.random.nextInt(PARTITIONS);
		send(partition, payment);
		int dice = this.copies ? this.random.nextInt(20) : Integer.MAX_VALUE;
		if (dice < 3) {
			send((partition + 1 + this.random.nextInt(PARTITIONS - 1)) % PARTITIONS, payment);
		}
		else if (dice < 6) {
			this.later.add(payment);
		}
	}

	private void sendLater() {
		send(this.random.nextInt(PARTITIONS), this.later.remove());
	}

	private void send(int partition, String payment) {
		String id = payment.substring(0, payment.indexOf(' '));
		send(Kafka.record(this.topic, partition, id, payment));
	}

	private void send(ProducerRecord<String, String> record) {
		this.unconfirmed.add(new Sent(record, this.sender.apply(record)));
		this.records++;
	}

	@Override
	public Set<String> keys() {
		return this.payments.keySet();
	}

	// Returns the amounts by payment.
	Map<String, Long> payments() {
		return this.payments;
	}

	// Returns the times at which payments were sent first, in milliseconds.
	Map<String, Long> sent() {
		return this.sent;
	}

	int records() {
		return this.records;
	}

	private record Sent(ProducerRecord<String, String> record, Future<RecordMetadata> future) {

	}

}
