/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a record has no usable key. The message states the reason; the
 * {@link dev.idempotency.MissingKeyPolicy} is applied next.
 */
final class UnusableKeyException extends RuntimeException {

	UnusableKeyException(String reason, @Nullable Throwable cause) {
		super(reason, cause);
	}

}
