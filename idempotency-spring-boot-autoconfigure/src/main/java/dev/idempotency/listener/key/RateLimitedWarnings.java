/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.LongSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Logs the first warning of each reason and then at most one per minute, with the number
 * of suppressed warnings, so that many bad records do not flood the log.
 */
final class RateLimitedWarnings {

	private static final Log logger = LogFactory.getLog("dev.idempotency.listener");

	private static final long INTERVAL = Duration.ofMinutes(1).toNanos();

	// Bounded, because a reason may contain a value of the record.
	private static final int MAX_REASONS = 100;

	private static final String OTHERS = "";

	private final Map<String, Reason> reasons = new ConcurrentHashMap<>();

	private final LongSupplier nanoTime;

	RateLimitedWarnings(LongSupplier nanoTime) {
		this.nanoTime = nanoTime;
	}

	void warn(String reason, String message, @Nullable Throwable cause) {
		String name = (this.reasons.containsKey(reason) || this.reasons.size() < MAX_REASONS) ? reason : OTHERS;
		long suppressed = this.reasons.computeIfAbsent(name, (added) -> new Reason()).next(this.nanoTime.getAsLong());
		if (suppressed >= 0) {
			logger.warn((suppressed > 0) ? message + " (" + suppressed + " more since the last warning)" : message,
					cause);
		}
		else if (logger.isDebugEnabled()) {
			logger.debug(message, cause);
		}
	}

	private static final class Reason {

		private long suppressed = -1;

		private long last;

		synchronized long next(long now) {
			if (this.suppressed >= 0 && now - this.last < INTERVAL) {
				this.suppressed++;
				return -1;
			}
			long count = Math.max(this.suppressed, 0);
			this.last = now;
			this.suppressed = 0;
			return count;
		}

	}

}
