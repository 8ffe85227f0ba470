/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.Mode;

/**
 * One listener for each point of {@link CrashShape#ASYNC}. Its first record stops there.
 */
class AsyncCrashListeners {

	// Each record has its own thread, so that a stuck record does not block the others.
	private final Executor executor = Executors.newCachedThreadPool();

	private final CrashPoint crash;

	private final CrashEffects effects;

	AsyncCrashListeners(CrashPoint crash, CrashEffects effects) {
		this.crash = crash;
		this.effects = effects;
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = "leased-running")
	@KafkaListener(topics = "${topic}-leased-running", groupId = "${topic}-leased-running")
	CompletableFuture<Void> leasedRunning(String value) {
		int fence = IdempotentExecution.current().fence();
		return CompletableFuture.runAsync(() -> {
			if (value.equals("first")) {
				this.crash.reach("leased-running");
			}
			this.effects.add("leased-running", value, fence);
		}, this.executor);
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = "leased-after-effect")
	@KafkaListener(topics = "${topic}-leased-after-effect", groupId = "${topic}-leased-after-effect")
	CompletableFuture<Void> leasedAfterEffect(String value) {
		int fence = IdempotentExecution.current().fence();
		return CompletableFuture.runAsync(() -> {
			this.effects.add("leased-after-effect", value, fence);
			if (value.equals("first")) {
				this.crash.reach("leased-after-effect");
			}
		}, this.executor);
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = CrashingApp.AFTER_COMPLETION)
	@KafkaListener(topics = "${topic}-leased-after-completion", groupId = "${topic}-leased-after-completion")
	CompletableFuture<Void> leasedAfterCompletion(String value) {
		int fence = IdempotentExecution.current().fence();
		return CompletableFuture.runAsync(() -> this.effects.add("leased-after-completion", value, fence),
				this.executor);
	}

}
