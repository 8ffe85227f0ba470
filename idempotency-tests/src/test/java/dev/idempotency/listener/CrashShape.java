/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * The way in which {@link CrashingApp} handles its records.
 */
enum CrashShape {

	/**
	 * Single records.
	 */
	RECORD(RecordCrashListeners.class, "first", "transactional-running", "transactional-before-commit",
			"transactional-after-commit", "offset-before-commit", "offset-after-commit", "leased-running",
			"leased-after-effect", CrashingApp.AFTER_COMPLETION, CrashingApp.OUTBOX) {

		// The relay is stuck with the first message, and the others wait for it.
		@Override
		List<String> linesBeforeCrash() {
			List<String> lines = new ArrayList<>(super.linesBeforeCrash());
			lines.add(this + " " + CrashingApp.PROCESSED + CrashingApp.OUTBOX + " third");
			return lines;
		}

		@Override
		Stream<String> settings() {
			return Stream.concat(super.settings(), Stream.of("idempotency.outbox.enabled=true",
					"spring.kafka.producer.properties.interceptor.classes=${outbox.interceptor:}"));
		}

	},

	/**
	 * One batch. It stops in the middle of the batch.
	 */
	BATCH(BatchCrashListeners.class, "third", "transactional-running", "transactional-before-commit",
			"transactional-after-commit", "leased-before-effect", "leased-running", "leased-after-effect",
			CrashingApp.AFTER_COMPLETION),

	/**
	 * Single records on another thread. The second and the third record are done while
	 * the first one is stuck.
	 */
	ASYNC(AsyncCrashListeners.class, "first", "leased-running", "leased-after-effect", CrashingApp.AFTER_COMPLETION) {

		@Override
		List<String> linesBeforeCrash() {
			List<String> lines = new ArrayList<>(super.linesBeforeCrash());
			points().forEach((point) -> {
				lines.add(this + " " + CrashingApp.PROCESSED + point + " second");
				lines.add(this + " " + CrashingApp.PROCESSED + point + " third");
			});
			return lines;
		}

	},

	/**
	 * Single records, each in a Kafka transaction.
	 */
	KAFKA_TRANSACTION(KafkaTransactionCrashListeners.class, "first", "leased-running", "leased-after-effect",
			"leased-before-commit", "leased-after-commit", CrashingApp.AFTER_COMPLETION) {

		@Override
		Stream<String> settings() {
			// The transactions of the killed producer
			// must not stay open for the default minute.
			return Stream.concat(super.settings(),
					Stream.of("spring.kafka.producer.transaction-id-prefix=${random.uuid}-",
							"spring.kafka.producer.properties.transaction.timeout.ms=10000"));
		}

	};

	private final Class<?> listeners;

	private final String lastCompleted;

	private final List<String> points;

	CrashShape(Class<?> listeners, String lastCompleted, String... points) {
		this.listeners = listeners;
		this.lastCompleted = lastCompleted;
		this.points = List.of(points);
	}

	Class<?> listeners() {
		return this.listeners;
	}

	// The record with the last completion before the crash.
	String lastCompleted() {
		return this.lastCompleted;
	}

	List<String> points() {
		return this.points;
	}

	// The output of the first process before it is killed.
	List<String> linesBeforeCrash() {
		return this.points.stream().map((point) -> this + " " + CrashPoint.REACHED + point).toList();
	}

	// What distinguishes its application from those of the other shapes.
	Stream<String> settings() {
		return Stream.of("shape=" + this, "topic=${topic." + this + "}",
				"spring.datasource.url=${database." + this + "}");
	}

}
