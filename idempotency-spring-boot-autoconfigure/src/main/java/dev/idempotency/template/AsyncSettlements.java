/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationLostException;
import dev.idempotency.Threads;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * Settles claims on threads of its own: those of asynchronous handlers, because the store
 * may need the thread on which the handler ended, and those of a transaction of the
 * caller, because its thread still holds a connection after the end of the transaction.
 * Results are completed on further threads, because the application may continue on them
 * for any time.
 */
final class AsyncSettlements implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(AsyncSettlements.class);

	private static final int THREADS = 8;

	private static final Duration LAST_WAIT = Duration.ofSeconds(10);

	private static final Duration SHORTEST_DELAY = Duration.ofMillis(50);

	private static final Duration LONGEST_DELAY = Duration.ofSeconds(2);

	private final Settlements settlements;

	private final ThreadPoolExecutor executor;

	// Each result has a thread, because the application may wait for one result while
	// it processes another.
	private final Executor completions;

	private final ScheduledThreadPoolExecutor repetitions;

	private final Map<CompletableFuture<?>, IdempotentOperation> running = new ConcurrentHashMap<>();

	AsyncSettlements(Settlements settlements, ThreadFactory threads, ThreadFactory completions) {
		this.settlements = settlements;
		this.executor = Threads.pool(threads, THREADS);
		this.completions = Executors.newCachedThreadPool(completions);
		this.repetitions = new ScheduledThreadPoolExecutor(1, threads);
	}

	<T> CompletableFuture<IdempotentResult<T>> settle(CompletionStage<T> stage, OwnedClaim claim,
			Function<@Nullable T, byte @Nullable []> writer) {
		CompletableFuture<IdempotentResult<T>> future = Futures.cancelling(stage);
		Futures.whenEnded(stage, (result, error) -> {
			Runnable settlement = () -> {
				try {
					settle(result, error, claim, writer, future);
				}
				finally {
					this.settlements.leave(claim);
				}
			};
			Runnable late = () -> logger.warn("An asynchronous handler ended after the application was closed: "
					+ claim.operation() + ". Its key is free when its lease has expired");
			execute(settlement, late, claim.operation());
		});
		return future;
	}

	private <T> void settle(@Nullable T result, @Nullable Throwable error, OwnedClaim claim,
			Function<@Nullable T, byte @Nullable []> writer, CompletableFuture<IdempotentResult<T>> future) {
		try {
			if (error != null) {
				Throwable cause = ExceptionCauses.ofStage(error);
				this.settlements.fail(claim.operation(), List.of(claim), cause);
				Throwable failure = claim.isLost() ? Settlements.logged(claim.lost(cause)) : cause;
				complete(() -> future.completeExceptionally(failure));
				return;
			}
			claim.setResult(writer.apply(result));
			Runnable completion = () -> future.complete(new IdempotentResult<>(result, false));
			claim.setLateObserver((settlement) -> complete((settlement == Settlement.SETTLED) ? completion
					: () -> future.completeExceptionally(claim.lost(null))));
			this.settlements.settle(StoreCall.COMPLETE, claim.operation(), List.of(claim));
			OperationLostException lost = claim.isLost() ? Settlements.logged(claim.lost(null)) : null;
			complete((lost != null) ? () -> future.completeExceptionally(lost) : completion);
		}
		catch (OperationBlockedException ex) {
			logger.debug("The result of an asynchronous operation waits until its completion is recorded", ex);
		}
		catch (Throwable ex) {
			complete(() -> future.completeExceptionally(ex));
		}
	}

	private void complete(Runnable completion) {
		try {
			this.completions.execute(completion);
		}
		catch (Error ex) {
			logger
				.warn("No thread could be started to complete the future of an asynchronous operation, so the current "
						+ "thread completes it. Check the thread limit of the process", ex);
			completion.run();
		}
	}

	// Settle operations whose transaction has ended. Their leases are renewed until the
	// settlement is recorded. If one of their keys is claimed again in this process
	// before that, it is settled first.
	void settle(List<IdempotentOperation> operations, boolean completed, Runnable settlement) {
		if (operations.isEmpty()) {
			settlement.run();
			return;
		}
		Runnable once = this.settlements.queue(operations, completed, settlement);
		execute(once, once, operations.get(0));
	}

	private void execute(Runnable settlement, Runnable late, IdempotentOperation operation) {
		CompletableFuture<@Nullable Void> settled = new CompletableFuture<>();
		this.running.put(settled, operation);
		Runnable task = () -> {
			try {
				settlement.run();
			}
			finally {
				ended(settled);
			}
		};
		try {
			this.executor.execute(task);
		}
		catch (RejectedExecutionException ex) {
			ended(settled);
			late.run();
		}
		catch (Error ex) {
			logger.warn("No thread could be started to record the outcome of " + operation
					+ ", so the current thread records it. Check the thread limit of the process", ex);
			task.run();
		}
	}

	private void ended(CompletableFuture<@Nullable Void> settled) {
		this.running.remove(settled);
		settled.complete(null);
	}

	// Repeat an operation until it has completed here or elsewhere, or has failed
	// for another reason than that it is blocked.
	<T> CompletableFuture<IdempotentResult<T>> untilCompleted(CompletableFuture<IdempotentResult<T>> execution,
			Handler<CompletableFuture<IdempotentResult<T>>, ?> repetition,
			CompletableFuture<IdempotentResult<T>> future) {
		Futures.whenEnded(execution, (result, error) -> {
			OperationBlockedException blocked = OperationBlockedException.in(error);
			if (blocked != null) {
				repeatLater(blocked, repetition, future);
			}
			else if (error != null) {
				future.completeExceptionally(error);
			}
			else {
				future.complete(result);
			}
		});
		return Futures.cancelling(execution, future);
	}

	private <T> void repeatLater(OperationBlockedException reason,
			Handler<CompletableFuture<IdempotentResult<T>>, ?> repetition,
			CompletableFuture<IdempotentResult<T>> future) {
		long delay = Math.max(SHORTEST_DELAY.toMillis(),
				Math.min(LONGEST_DELAY.toMillis(), reason.retryAfter().toMillis()));
		try {
			this.repetitions.schedule(() -> complete(() -> repeat(repetition, future)), delay, TimeUnit.MILLISECONDS);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("An asynchronous operation is not repeated, because the application was closed", ex);
		}
		catch (Error ex) {
			future.completeExceptionally(ex);
		}
	}

	private <T> void repeat(Handler<CompletableFuture<IdempotentResult<T>>, ?> repetition,
			CompletableFuture<IdempotentResult<T>> future) {
		if (future.isDone()) {
			return;
		}
		try {
			untilCompleted(Objects.requireNonNull(repetition.handle()), repetition, future);
		}
		catch (OperationBlockedException ex) {
			repeatLater(ex, repetition, future);
		}
		catch (Throwable ex) {
			future.completeExceptionally(ex);
		}
	}

	static <T> CompletableFuture<IdempotentResult<T>> unprotected(CompletionStage<T> stage) {
		return Futures.convert(stage, (result, error) -> {
			if (error != null) {
				throw ExceptionCauses.ofStage(error);
			}
			return new IdempotentResult<>(result, false);
		});
	}

	// Report the outcome of an asynchronous operation when it has ended, before the
	// caller receives it: the caller may end the observation of the record.
	static <T> CompletableFuture<IdempotentResult<T>> reported(CompletableFuture<IdempotentResult<Object>> execution,
			BatchRun run) {
		return Futures.convert(execution, (outcome, error) -> {
			run.ended(outcome, error);
			if (error != null) {
				throw error;
			}
			return (outcome != null) ? Declined.resultOf(outcome) : null;
		});
	}

	void awaitRunning() {
		awaitRunning(System.nanoTime() + LAST_WAIT.toNanos());
		warnOfRunning();
	}

	// Further handlers may end during the wait.
	private void awaitRunning(long end) {
		try {
			while (!this.running.isEmpty()) {
				CompletableFuture.allOf(this.running.keySet().toArray(CompletableFuture[]::new))
					.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
			}
		}
		catch (TimeoutException | ExecutionException ex) {
			logger.debug("The time to record the outcomes of asynchronous handlers is over", ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private void warnOfRunning() {
		if (!this.running.isEmpty()) {
			logger.warn("The outcomes of some operations are not recorded yet: " + this.running.values()
					+ ". If the process ends first, their keys are free when their leases have expired");
		}
	}

	// The settlements that run when the time is over are not interrupted: they may still
	// be recorded.
	@Override
	public void close() {
		this.repetitions.shutdownNow();
		long end = System.nanoTime() + LAST_WAIT.toNanos();
		awaitRunning(end);
		this.executor.shutdown();
		awaitRunning(end);
		warnOfRunning();
	}

}
