/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;

/**
 * Finds exceptions among the nested causes of others.
 *
 * @since 0.1.0
 */
@Internal
public final class ExceptionCauses {

	// Causes may form a cycle.
	private static final int MAX_DEPTH = 50;

	private ExceptionCauses() {
	}

	/**
	 * Find the first exception of a type.
	 * @param type the type
	 * @param error the exception to begin with
	 * @param <T> the type
	 * @return the exception, {@code null} if there is none
	 */
	public static <T extends Throwable> @Nullable T find(Class<T> type, @Nullable Throwable error) {
		return type.cast(find(error, type::isInstance));
	}

	/**
	 * Find the first exception that meets a condition.
	 * @param error the exception to begin with
	 * @param condition the condition
	 * @return the exception, {@code null} if there is none
	 */
	public static @Nullable Throwable find(@Nullable Throwable error, Predicate<Throwable> condition) {
		Throwable cause = error;
		for (int depth = 0; cause != null && depth < MAX_DEPTH; depth++) {
			if (condition.test(cause)) {
				return cause;
			}
			cause = cause.getCause();
		}
		return null;
	}

	/**
	 * Return the deepest cause. Spring's {@code NestedExceptionUtils} does not end if
	 * causes form a cycle.
	 * @param error the exception to begin with
	 * @return the deepest cause, the exception itself if it has none
	 */
	public static Throwable last(Throwable error) {
		Throwable last = error;
		for (int depth = 0; depth < MAX_DEPTH && last.getCause() != null; depth++) {
			last = last.getCause();
		}
		return last;
	}

	/**
	 * Return whether an error may be that of a content, which would cause it with each
	 * delivery and stop the container. An error of the JVM, such as a lack of memory, has
	 * other causes; a stack overflow has not.
	 * @param error the error that reading or writing the content has thrown
	 * @return whether the content may be the cause
	 */
	public static boolean mayBeOfContent(Throwable error) {
		return !(error instanceof VirtualMachineError) || error instanceof StackOverflowError;
	}

	/**
	 * Return the exception with which the origin of a stage has failed.
	 * @param error the exception with which the stage has failed
	 * @return the exception inside of a {@link CompletionException}, else the given one
	 */
	public static Throwable ofStage(Throwable error) {
		return (error instanceof CompletionException && error.getCause() != null) ? error.getCause() : error;
	}

	/**
	 * Return the exception of a handler, from whatever a future has thrown instead of it.
	 * @param error the exception of the handler or of the future
	 * @return the innermost exception that a future has not added
	 */
	public static @Nullable Throwable ofHandler(@Nullable Throwable error) {
		Throwable thrown = error;
		while ((thrown instanceof CompletionException || thrown instanceof ExecutionException)
				&& thrown.getCause() != null) {
			thrown = thrown.getCause();
		}
		return thrown;
	}

}
