/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.template.IdempotencyTemplate.Settings;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link IdempotencyTemplate#executeAsyncUntilCompleted}.
 */
@Tag("promise-1")
class RepeatedExecutionTests {

	private static final Duration SHORT = Duration.ofMillis(200);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final IdempotencyTemplate template = new IdempotencyTemplate(database.store(),
			new Settings(null, false, Observers.none()));

	// One for each run of the handler.
	private final Queue<CompletableFuture<String>> runs = new ConcurrentLinkedQueue<>();

	@AfterEach
	void close() {
		this.template.close();
	}

	private CompletableFuture<IdempotentResult<String>> run() {
		return this.template.executeAsyncUntilCompleted(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(),
				() -> {
					CompletableFuture<String> handler = new CompletableFuture<>();
					this.runs.add(handler);
					return handler;
				});
	}

	private CompletableFuture<String> handler(int run) {
		await().until(() -> this.runs.size() == run);
		return List.copyOf(this.runs).get(run - 1);
	}

	private ClaimRequest takeOver(Duration lease) {
		database.endLease(this.key);
		ClaimRequest other = TestDatabase.request(this.key, lease);
		one(database.store()).claim(other);
		return other;
	}

	private static OperationInProgressException blocked() {
		return new OperationInProgressException("A nested operation is in progress", SHORT);
	}

	@Test
	void resultOfTheFirstExecutionIsReturned() {
		CompletableFuture<IdempotentResult<String>> result = run();
		assertThat(result).isNotDone();
		handler(1).complete("paid");
		assertThat(result.join()).isEqualTo(new IdempotentResult<>("paid", false));
		assertThat(this.runs).hasSize(1);
	}

	@Test
	void failureOfTheHandlerIsReturned() {
		CompletableFuture<IdempotentResult<String>> result = run();
		handler(1).completeExceptionally(new IOException("no route"));
		await().until(result::isDone);
		assertThat(result).isCompletedExceptionally();
		assertThat(this.runs).hasSize(1);
		assertThat(database.record(this.key).state()).isEqualTo(State.FAILED);
	}

	@Test
	@Tag("promise-4")
	@Tag("promise-8")
	@Tag("slow")
	void resultOfAnotherOwnerIsReplayed() {
		CompletableFuture<IdempotentResult<String>> result = run();
		one(database.store()).complete(takeOver(TestDatabase.LEASE), new TextCodec().write("theirs"));
		handler(1).complete("mine");
		assertThat(result.join()).isEqualTo(new IdempotentResult<>("theirs", true));
		assertThat(this.runs).hasSize(1);
	}

	@Test
	@Tag("promise-7")
	@Tag("slow")
	void handlerRunsAgainWhenTheClaimOfAnotherOwnerExpires() {
		CompletableFuture<IdempotentResult<String>> result = run();
		takeOver(Duration.ofMillis(1300));
		handler(1).complete("lost");
		handler(2).complete("again");
		assertThat(result.join()).isEqualTo(new IdempotentResult<>("again", false));
		assertThat(database.record(this.key).fence()).isEqualTo(3);
	}

	@Test
	void handlerThatIsBlockedRunsAgain() {
		CompletableFuture<IdempotentResult<String>> result = run();
		handler(1).completeExceptionally(blocked());
		handler(2).complete("done");
		assertThat(result.join()).isEqualTo(new IdempotentResult<>("done", false));
	}

	@Test
	void failureOfARepetitionIsReturned() {
		CompletableFuture<IdempotentResult<String>> result = this.template
			.executeAsyncUntilCompleted(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> {
				CompletableFuture<String> handler = new CompletableFuture<>();
				this.runs.add(handler);
				if (this.runs.size() > 1) {
					throw new IllegalStateException("handler");
				}
				return handler;
			});
		handler(1).completeExceptionally(blocked());
		await().until(result::isDone);
		assertThat(result).isCompletedExceptionally();
		assertThat(this.runs).hasSize(2);
	}

	@Test
	void firstExecutionThatIsBlockedIsNotRepeated() {
		takeOver(TestDatabase.LEASE);
		assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(this::run);
		assertThat(this.runs).isEmpty();
	}

	@Test
	void cancellationCancelsTheHandler() {
		run().cancel(true);
		assertThat(handler(1)).isCancelled();
	}

	@Test
	void cancellationCancelsTheRepetition() {
		CompletableFuture<IdempotentResult<String>> result = run();
		handler(1).completeExceptionally(blocked());
		CompletableFuture<String> second = handler(2);
		result.cancel(true);
		await().until(second::isCancelled);
	}

	@Test
	void cancellationWhileARepetitionBeginsCancelsItsStage() throws InterruptedException {
		CountDownLatch cancelled = new CountDownLatch(1);
		CompletableFuture<IdempotentResult<String>> result = this.template
			.executeAsyncUntilCompleted(TestDatabase.operation(this.key, Mode.LEASED), new TextCodec(), () -> {
				CompletableFuture<String> handler = new CompletableFuture<>();
				this.runs.add(handler);
				if (this.runs.size() > 1) {
					cancelled.await();
				}
				return handler;
			});
		handler(1).completeExceptionally(blocked());
		CompletableFuture<String> second = handler(2);
		result.cancel(true);
		cancelled.countDown();
		await().until(second::isCancelled);
	}

	@Test
	void cancellationBetweenExecutionsPreventsTheNextOne() {
		CompletableFuture<IdempotentResult<String>> result = run();
		handler(1).completeExceptionally(blocked());
		result.cancel(true);
		await().during(SHORT.multipliedBy(2)).until(() -> this.runs.size() == 1);
	}

	@Test
	void closedTemplateRepeatsNothing() {
		CompletableFuture<IdempotentResult<String>> result = run();
		handler(1).completeExceptionally(blocked());
		this.template.close();
		await().during(SHORT.multipliedBy(2)).until(() -> this.runs.size() == 1);
		assertThat(result).isNotDone();
	}

}
