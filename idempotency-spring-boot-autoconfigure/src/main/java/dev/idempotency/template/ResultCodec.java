/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * Converts the result of a handler to bytes for the store, and back for a duplicate.
 *
 * @param <T> the type of the result
 * @since 0.1.0
 */
public interface ResultCodec<T> {

	/**
	 * Write a result.
	 * @param result the result
	 * @return its bytes, {@code null} if there is nothing to store
	 */
	byte @Nullable [] write(@Nullable T result);

	/**
	 * Read a result as the declared type, never as a type that the bytes name. The
	 * template reads the first results of a listener right after they were written, so
	 * that an unreadable type is reported before there is a duplicate.
	 * @param bytes the bytes that {@link #write} returned
	 * @return the result
	 * @throws IdempotencyConfigurationException if the type can never be read; its
	 * message is shown, unlike that of any other exception, and must not quote the bytes
	 */
	@Nullable T read(byte[] bytes);

	/**
	 * Create a codec for handlers without a result.
	 * @param <T> the type of the result
	 * @return a codec that stores nothing
	 */
	static <T> ResultCodec<T> none() {
		return new ResultCodec<>() {

			@Override
			public byte @Nullable [] write(@Nullable T result) {
				return null;
			}

			@Override
			public @Nullable T read(byte[] bytes) {
				return null;
			}

		};
	}

}
