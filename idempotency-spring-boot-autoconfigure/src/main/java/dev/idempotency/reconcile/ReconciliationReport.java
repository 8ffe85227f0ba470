/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The progress or the result of a reconciliation.
 *
 * @param listener the listener that was named
 * @param state the state of the run
 * @param startedAt the time of its beginning
 * @param duration its duration so far
 * @param total the number of offsets in the range, an upper limit of the number of
 * records
 * @param read the number of records that were read and compared
 * @param counts the number of records of each status that occurs
 * @param findings the first listed records, {@value Reconciliation#REPORTED} at most
 * @param listed the number of all listed records
 * @param error a sentence with the reason why the run ended early, {@code null} if it did
 * not end early
 * @since 0.1.0
 */
public record ReconciliationReport(String listener, State state, Instant startedAt, Duration duration, long total,
		long read, Map<ReconciliationStatus, Long> counts, List<ReconciliationFinding> findings, long listed,
		@Nullable String error) {

	/**
	 * Return the number of records whose effect may be missing.
	 * @return the number of findings
	 */
	public long findingCount() {
		return this.counts.entrySet()
			.stream()
			.filter((count) -> count.getKey().isFinding())
			.mapToLong(Map.Entry::getValue)
			.sum();
	}

	/**
	 * The state of a run.
	 */
	public enum State {

		/**
		 * The run reads records.
		 */
		RUNNING,

		/**
		 * All records of the range were compared.
		 */
		DONE,

		/**
		 * The run ended at its limit or its timeout. The later records of the range were
		 * not compared.
		 */
		INCOMPLETE,

		/**
		 * The run was cancelled.
		 */
		CANCELLED,

		/**
		 * The broker or the store did not answer, or the range cannot be read.
		 */
		FAILED

	}

}
