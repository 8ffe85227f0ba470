/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;

import dev.idempotency.testsupport.Kafka;

/**
 * Sends versions of accounts, three in ten of them twice, in any order and to any
 * partition.
 */
final class VersionTraffic implements Traffic {

	static final int ACCOUNTS = 50;

	private final Map<String, Long> highest = new HashMap<>();

	private final String topic;

	private final Random random;

	private int records;

	VersionTraffic(String topic, Random random) {
		this.topic = topic;
		this.random = random;
	}

	@Override
	public void send(int count) throws InterruptedException, ExecutionException {
		List<String> updates = new ArrayList<>();
		for (int number = 0; number < count; number++) {
			String account = "a" + this.random.nextInt(ACCOUNTS);
			String update = account + " " + this.highest.merge(account, 1L, Long::sum);
			updates.addAll(Collections.nCopies((this.random.nextInt(10) < 3) ? 2 : 1, update));
		}
		Collections.shuffle(updates, this.random);
		List<Future<?>> sent = new ArrayList<>();
		for (String update : updates) {
			String account = update.substring(0, update.indexOf(' '));
			sent.add(Kafka
				.sendSoon(Kafka.record(this.topic, this.random.nextInt(PaymentTraffic.PARTITIONS), account, update)));
		}
		for (Future<?> confirmation : sent) {
			confirmation.get();
		}
		this.records += updates.size();
	}

	@Override
	public Set<String> keys() {
		return this.highest.keySet();
	}

	// Returns the highest version of each account.
	Map<String, Long> highest() {
		return this.highest;
	}

	int records() {
		return this.records;
	}

}
