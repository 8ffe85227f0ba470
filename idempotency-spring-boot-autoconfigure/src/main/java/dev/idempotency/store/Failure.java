/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import org.jspecify.annotations.Nullable;

/**
 * The failure of a handler. Type and message are cut to 500 characters, so that every
 * store can hold them.
 *
 * @param type the class name of the error
 * @param message the message of the error
 * @since 0.1.0
 */
public record Failure(String type, @Nullable String message) {

	private static final int MAX_LENGTH = 500;

	public Failure {
		type = cut(type);
		message = (message != null) ? cut(message) : null;
	}

	/**
	 * Create the failure for an error.
	 * @param error the error
	 * @return the failure
	 */
	public static Failure of(Throwable error) {
		String message;
		try {
			message = error.getMessage();
		}
		catch (Throwable ex) {
			message = null;
		}
		return new Failure(error.getClass().getName(), message);
	}

	/**
	 * Cut a text so that every store can hold it.
	 * @param text the text
	 * @return its first 500 characters, without those that a database refuses
	 */
	public static String cut(String text) {
		StringBuilder cut = new StringBuilder(Math.min(text.length(), MAX_LENGTH));
		// PostgreSQL refuses zeros and unpaired surrogates.
		text.codePoints()
			.filter((c) -> c != 0 && !(c >= Character.MIN_SURROGATE && c <= Character.MAX_SURROGATE))
			.limit(MAX_LENGTH)
			.forEach(cut::appendCodePoint);
		return cut.toString();
	}

}
