/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm.pairs;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;

import dev.idempotency.storm.pairs.Message.Kind;
import dev.idempotency.testsupport.Kafka;

/**
 * The records of a trial: about fifty that are sent before the application starts, and a
 * copy of each that is sent when they are done.
 */
final class Traffic {

	static final int PARTITIONS = 2;

	private final Combination combination;

	private final List<Message> first = new ArrayList<>();

	private final List<Message> second;

	private int records;

	Traffic(Combination combination) {
		this.combination = combination;
		boolean recovers = !combination.stopping();
		boolean drops = combination.is(Factor.INTERCEPTION, "interceptor drops", "filter drops");
		for (int i = 0; i < 4; i++) {
			send(i, "n" + i, Kind.NORMAL, "a", 1);
		}
		send(0, "n0", Kind.NORMAL, "a", 1);
		send(1, "n2", Kind.NORMAL, "a", 1);
		send(0, "once0", Kind.ONCE, "a", 1);
		send(1, "once1", Kind.ONCE, "a", 1);
		send(0, "once0", Kind.ONCE, "a", 1);
		send(1, "n4", Kind.NORMAL, "a", 1);
		if (combination.is(Factor.STORE, "migrating") && combination.keyed() && !combination.versions()) {
			send(0, "moved0", Kind.MOVED, "a", 1);
			send(1, "moved1", Kind.MOVED, "a", 1);
		}
		if (drops) {
			send(0, "dropped0", Kind.DROPPED, "a", 1);
			send(1, "dropped1", Kind.DROPPED, "a", 1);
		}
		if (combination.versions()) {
			send(0, "version", Kind.NORMAL, "a", 3);
			send(0, "version", Kind.NORMAL, "b", 2);
			if (combination.single()) {
				// A duplicate before the higher version. An asynchronous one may wait.
				send(0, "version", Kind.NORMAL, "a", 3);
			}
			send(0, "n5", Kind.NORMAL, "a", 1);
			send(0, "version", Kind.NORMAL, "c", 4);
		}
		send(0, "always0", Kind.ALWAYS, "a", 1);
		send(1, "n6", Kind.NORMAL, "a", 1);
		if (combination.declines()) {
			send(0, "declined0", Kind.DECLINED, "a", 1);
			send(1, "declined1", Kind.DECLINED, "a", 1);
			send(0, "declined0", Kind.DECLINED, "a", 1);
		}
		send(1, "always1", Kind.ALWAYS, "a", 1);
		if (recovers || !combination.versions()) {
			send(0, "keyless0", Kind.KEYLESS, "a", 1);
			send(1, "keyless1", Kind.KEYLESS, "a", 1);
		}
		if (recovers || combination.is(Factor.FINGERPRINT, "none")) {
			send(1, "n1", Kind.REUSED, "b", 1);
			send(0, "n2", Kind.REUSED, "b", 1);
			// Directly behind the first record of its key, so that a batch has both.
			for (int i = 0; i < 2; i++) {
				send(i, "fresh" + i, Kind.NORMAL, "a", 1);
				send(i, "fresh" + i, Kind.REUSED, "b", 1);
			}
		}
		for (int i = 7; i < 15; i++) {
			if (drops && (i == 9 || i == 10)) {
				// Behind a record that completes, so that its key may be claimed ahead.
				send(i, "dropped" + i, Kind.DROPPED, "a", 1);
			}
			send(i, "n" + i, Kind.NORMAL, "a", 1);
			if (i % 3 == 0) {
				send(i, "n" + i, Kind.NORMAL, "a", 1);
				send(i + 1, "n" + i, Kind.NORMAL, "a", 1);
			}
		}
		if (combination.versions()) {
			// In the copies, no acknowledgment of the method follows it.
			send(0, "version", Kind.NORMAL, "b", 2);
		}
		send(0, "last0", Kind.NORMAL, "a", 1);
		send(1, "last1", Kind.NORMAL, "a", 1);
		this.second = new ArrayList<>(
				this.first.stream().map((message) -> message.copy("r" + this.records++, message.partition())).toList());
	}

	private void send(int partition, String id, Kind kind, String content, long version) {
		this.first.add(new Message("r" + this.records++, partition % PARTITIONS, id, kind, content, version));
	}

	List<Message> first() {
		return this.first;
	}

	List<Message> second() {
		return this.second;
	}

	List<Message> all() {
		List<Message> all = new ArrayList<>(this.first);
		all.addAll(this.second);
		return all;
	}

	void send(String topic, List<Message> messages) throws Exception {
		List<Future<?>> sent = new ArrayList<>();
		messages.forEach((message) -> sent.add(Kafka.sendSoon(message.record(topic, this.combination))));
		for (Future<?> each : sent) {
			each.get();
		}
	}

}
