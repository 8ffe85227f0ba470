/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Internal;

/**
 * Futures whose cancellation cancels the stage from which they result.
 *
 * @since 0.1.0
 */
@Internal
public final class Futures {

	private Futures() {
	}

	/**
	 * Convert the outcome of a stage.
	 * @param stage the stage
	 * @param conversion converts its result or its exception
	 * @param <T> the type of its result
	 * @param <R> the type of the converted result
	 * @return a future that completes with what the conversion returns or throws
	 */
	public static <T, R> CompletableFuture<R> convert(CompletionStage<T> stage, Conversion<T, R> conversion) {
		CompletableFuture<R> future = cancelling(stage);
		whenEnded(stage, (result, error) -> {
			try {
				future.complete(conversion.apply(result, error));
			}
			catch (Throwable ex) {
				future.completeExceptionally(ex);
			}
		});
		return future;
	}

	// Unlike whenComplete(), this does not read the text of an exception of the
	// application, which may fail.
	static <T> void whenEnded(CompletionStage<T> stage, BiConsumer<@Nullable T, @Nullable Throwable> action) {
		stage.handle((result, error) -> {
			action.accept(result, error);
			return true;
		});
	}

	// Return a future that cancels the stage before itself: what follows its end, such as
	// the record of a failure, must not happen while the stage still runs.
	static <T> CompletableFuture<T> cancelling(CompletionStage<?> stage) {
		return new CompletableFuture<>() {

			@Override
			public boolean cancel(boolean mayInterruptIfRunning) {
				CompletableFuture<?> cancelled = stage.toCompletableFuture();
				cancelled.cancel(true);
				// What has ended is still recorded, and the future has its outcome.
				return cancelled.isCancelled() && super.cancel(mayInterruptIfRunning);
			}

		};
	}

	/**
	 * Cancel a stage when a future is cancelled.
	 * @param stage the stage
	 * @param future the future
	 * @param <T> the type of its result
	 * @return the future
	 */
	public static <T> CompletableFuture<T> cancelling(CompletionStage<?> stage, CompletableFuture<T> future) {
		whenEnded(future, (result, error) -> {
			if (future.isCancelled()) {
				stage.toCompletableFuture().cancel(true);
			}
		});
		return future;
	}

	/**
	 * Converts the outcome of a stage.
	 *
	 * @param <T> the type of its result
	 * @param <R> the type of the converted result
	 */
	@FunctionalInterface
	public interface Conversion<T, R> {

		/**
		 * Convert an outcome.
		 * @param result the result, {@code null} if there is none
		 * @param error the exception, {@code null} if the stage has not failed
		 * @return the converted result
		 * @throws Throwable the converted exception
		 */
		@Nullable R apply(@Nullable T result, @Nullable Throwable error) throws Throwable;

	}

}
