/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;

/**
 * One listener for each point of {@link CrashShape#KAFKA_TRANSACTION}. Its first record
 * stops there. The effect of a record is a record in another topic.
 */
class KafkaTransactionCrashListeners implements TransactionExecutionListener {

	private final ThreadLocal<@Nullable String> committing = new ThreadLocal<>();

	private final CrashPoint crash;

	private final KafkaTemplate<Object, Object> kafka;

	private final String topic;

	KafkaTransactionCrashListeners(CrashPoint crash, KafkaTemplate<Object, Object> kafka,
			KafkaTransactionManager<?, ?> transactions, @Value("${topic}") String topic) {
		this.crash = crash;
		this.kafka = kafka;
		this.topic = topic;
		// The library adds its listener after this one, when it protects the containers.
		transactions.addListener(this);
	}

	static String output(String topic) {
		return topic + "-output";
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-running", groupId = "${topic}-leased-running")
	void leasedRunning(String value) {
		if (value.equals("first")) {
			this.crash.reach("leased-running");
		}
		effect("leased-running", value);
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-after-effect", groupId = "${topic}-leased-after-effect")
	void leasedAfterEffect(String value) {
		effect("leased-after-effect", value);
		if (value.equals("first")) {
			this.crash.reach("leased-after-effect");
		}
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-before-commit", groupId = "${topic}-leased-before-commit")
	void leasedBeforeCommit(String value) {
		effect("leased-before-commit", value);
		this.committing.set("leased-before-commit");
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-after-commit", groupId = "${topic}-leased-after-commit")
	void leasedAfterCommit(String value) {
		effect("leased-after-commit", value);
		this.committing.set("leased-after-commit");
	}

	// Does not apply to the scope whose point is the end of the handler, because its
	// completion follows that point.
	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = "completed")
	@KafkaListener(topics = "${topic}-leased-after-completion", groupId = "${topic}-leased-after-completion")
	void leasedAfterCompletion(String value) {
		effect("leased-after-completion", value);
		this.committing.set(CrashingApp.AFTER_COMPLETION);
	}

	@Override
	public void beforeCommit(TransactionExecution transaction) {
		if ("leased-before-commit".equals(this.committing.get())) {
			this.crash.reach("leased-before-commit");
		}
	}

	@Override
	public void afterCommit(TransactionExecution transaction, @Nullable Throwable commitFailure) {
		if (commitFailure == null && "leased-after-commit".equals(this.committing.get())) {
			this.crash.reach("leased-after-commit");
		}
	}

	// For the second record; the first one is completed.
	@Override
	public void beforeBegin(TransactionExecution transaction) {
		if (CrashingApp.AFTER_COMPLETION.equals(this.committing.get())) {
			this.crash.reach(CrashingApp.AFTER_COMPLETION);
		}
	}

	private void effect(String point, String value) {
		// Flushed to the broker before the process is killed.
		this.kafka.send(output(this.topic + "-" + point), IdempotentExecution.current().fence() + " " + value).join();
	}

}
