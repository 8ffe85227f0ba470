/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.template.StoreObserver.StoreCall;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TestRedis;
import dev.idempotency.testsupport.TextCodec;
import dev.idempotency.testsupport.UnreliableStore;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link AsyncSettlements} when the stage of a handler completes on the thread
 * that the store needs for its answer.
 */
class SignalThreadTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@RegisterExtension
	static TestRedis redis = TestRedis.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final IdempotentOperation operation = TestDatabase.operation(this.key, Mode.LEASED);

	private final RecordingObserver listener = new RecordingObserver();

	private final ExecutorService events = Executors.newSingleThreadExecutor();

	private final CompletableFuture<String> handler = new CompletableFuture<>();

	@AfterEach
	void stop() {
		this.events.shutdownNow();
	}

	@Test
	void completionDoesNotBlockTheThreadOfTheStageThatTheStoreNeeds() {
		UnreliableStore store = new UnreliableStore(database.store());
		store.before(StoreCall.COMPLETE, (claim) -> pass(this.events));
		store.before(StoreCall.FAIL, (claim) -> pass(this.events));
		try (IdempotencyTemplate template = new IdempotencyTemplate(store,
				new Settings(null, false, this.listener.observers()))) {
			CompletableFuture<IdempotentResult<String>> answer = template.executeAsync(this.operation, new TextCodec(),
					() -> this.handler);
			this.events.execute(() -> this.handler.complete("paid"));
			await().until(answer::isDone);
			assertThat(answer.join().result()).isEqualTo("paid");
			CompletableFuture<IdempotentResult<String>> failure = template.executeAsync(
					TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), new TextCodec(),
					() -> CompletableFuture.supplyAsync(() -> {
						throw new IllegalStateException("handler");
					}, this.events));
			await().until(failure::isCompletedExceptionally);
		}
		assertNoCallWasLost();
		assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

	// A completion that the store did not record in time is retried, so the result alone
	// proves nothing.
	private void assertNoCallWasLost() {
		assertThat(this.listener.storeCalls()).noneMatch((call) -> call.endsWith("unavailable"));
	}

	private static void pass(ExecutorService events) {
		try {
			events.submit(() -> {
			}).get(2, TimeUnit.SECONDS);
		}
		catch (InterruptedException | ExecutionException | TimeoutException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	void stageOnTheEventLoopOfTheRedisStoreIsCompleted() {
		try (IdempotencyTemplate template = new IdempotencyTemplate(redis.store(),
				new Settings(null, false, this.listener.observers()));
				RedisConnection connection = redis.factory().getConnection()) {
			RedisClusterAsyncCommands<byte[], byte[]> commands = ((LettuceConnection) connection).getNativeConnection();
			CompletableFuture<String> thread = new CompletableFuture<>();
			CompletableFuture<IdempotentResult<String>> answer = template.executeAsync(this.operation, new TextCodec(),
					() -> this.handler);
			// Redis answers after the timeout, when the handler is running.
			commands.blpop(0.3, "nothing".getBytes(StandardCharsets.US_ASCII)).thenAccept((nothing) -> {
				thread.complete(Thread.currentThread().getName());
				this.handler.complete("PONG");
			});
			await().until(answer::isDone);
			assertThat(answer.join().result()).isEqualTo("PONG");
			assertThat(thread.join()).startsWith("lettuce-");
		}
		assertNoCallWasLost();
		assertThat(redis.record(this.key).state()).isEqualTo(State.COMPLETED);
	}

}
