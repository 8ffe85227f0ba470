/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import org.jspecify.annotations.Nullable;

/**
 * Counts the pending work while processes and servers may be unavailable.
 */
final class PendingCounter {

	static final long UNKNOWN = -1;

	private final PendingQuery query;

	private final ProcessGroup processes;

	private long last = UNKNOWN;

	private @Nullable Exception error;

	PendingCounter(PendingQuery query, ProcessGroup processes) {
		this.query = query;
		this.processes = processes;
	}

	/**
	 * Count the pending work.
	 */
	long read() {
		this.processes.checkAlive();
		try {
			this.last = this.query.count();
			this.error = null;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while the pending work was counted", ex);
		}
		catch (Exception ex) {
			this.last = UNKNOWN;
			this.error = ex;
		}
		return this.last;
	}

	long last() {
		return this.last;
	}

	@Nullable Exception error() {
		return this.error;
	}

	@Override
	public String toString() {
		return (this.error != null) ? "the pending work cannot be counted: " + this.error : this.last + " pending";
	}

}
