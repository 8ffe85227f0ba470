/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;

/**
 * One listener for each point of {@link CrashShape#BATCH}.
 */
class BatchCrashListeners {

	private final CrashPoint crash;

	private final CrashEffects effects;

	BatchCrashListeners(CrashPoint crash, CrashEffects effects) {
		this.crash = crash;
		this.effects = effects;
	}

	@Idempotent(mode = Mode.TRANSACTIONAL)
	@KafkaListener(topics = "${topic}-transactional-running", groupId = "${topic}-transactional-running",
			batch = "true")
	void transactionalRunning(List<String> values) {
		effects("transactional-running", values, 0, 2);
		this.crash.reach("transactional-running");
		effects("transactional-running", values, 2, 3);
	}

	@Idempotent(mode = Mode.TRANSACTIONAL)
	@KafkaListener(topics = "${topic}-transactional-before-commit", groupId = "${topic}-transactional-before-commit",
			batch = "true")
	void transactionalBeforeCommit(List<String> values) {
		effects("transactional-before-commit", values, 0, 3);
		this.crash.reachBeforeCommit("transactional-before-commit");
	}

	@Idempotent(mode = Mode.TRANSACTIONAL)
	@KafkaListener(topics = "${topic}-transactional-after-commit", groupId = "${topic}-transactional-after-commit",
			batch = "true")
	void transactionalAfterCommit(List<String> values) {
		effects("transactional-after-commit", values, 0, 3);
		this.crash.reachAfterCommit("transactional-after-commit");
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-running", groupId = "${topic}-leased-running", batch = "true")
	void leasedRunning(List<String> values) {
		effects("leased-running", values, 0, 1);
		this.crash.reach("leased-running");
		effects("leased-running", values, 1, 3);
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-before-effect", groupId = "${topic}-leased-before-effect", batch = "true")
	void leasedBeforeEffect(List<String> values) {
		this.crash.reach("leased-before-effect");
		effects("leased-before-effect", values, 0, 3);
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-after-effect", groupId = "${topic}-leased-after-effect", batch = "true")
	void leasedAfterEffect(List<String> values) {
		effects("leased-after-effect", values, 0, 3);
		this.crash.reach("leased-after-effect");
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = CrashingApp.AFTER_COMPLETION)
	@KafkaListener(topics = "${topic}-leased-after-completion", groupId = "${topic}-leased-after-completion",
			batch = "true")
	void leasedAfterCompletion(List<String> values) {
		effects("leased-after-completion", values, 0, 3);
	}

	private void effects(String name, List<String> values, int from, int to) {
		List<@Nullable IdempotentExecution> executions = IdempotentExecution.currentBatch();
		for (int i = from; i < to; i++) {
			IdempotentExecution execution = Objects.requireNonNull(executions.get(i), "All records have keys");
			this.effects.add(name, values.get(i), execution.fence());
		}
	}

}
