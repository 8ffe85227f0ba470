/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.util.function.LongSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.RateLimit;

/**
 * Logs the first warning of each reason and then at most one per minute, with the number
 * of suppressed warnings, so that many bad records do not flood the log.
 */
final class RateLimitedWarnings {

	private static final Log logger = LogFactory.getLog("dev.idempotency.listener");

	private static final int MAX_REASONS = 100;

	private final RateLimit limit;

	RateLimitedWarnings(LongSupplier nanoTime) {
		this.limit = new RateLimit(MAX_REASONS, nanoTime);
	}

	void warn(String reason, String message, @Nullable Throwable cause) {
		long suppressed = this.limit.next(reason);
		if (suppressed >= 0) {
			logger.warn((suppressed > 0) ? message + " (" + suppressed + " more since the last warning)" : message,
					cause);
		}
		else if (logger.isDebugEnabled()) {
			logger.debug(message, cause);
		}
	}

}
