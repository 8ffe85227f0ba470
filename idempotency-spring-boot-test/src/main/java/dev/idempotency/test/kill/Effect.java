/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import org.jspecify.annotations.Nullable;

/**
 * One effect of an operation, for example a row that its handler has inserted.
 *
 * @param key the key of the operation
 * @param process the identifier of the process that caused the effect, {@code null} if it
 * is not known
 * @since 0.1.0
 */
public record Effect(String key, @Nullable Long process) {

	/**
	 * Create an effect of an unknown process.
	 * @param key the key of the operation
	 * @return the effect
	 */
	public static Effect of(String key) {
		return new Effect(key, null);
	}

}
