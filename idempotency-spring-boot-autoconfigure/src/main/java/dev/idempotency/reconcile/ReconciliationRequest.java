/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.reconcile;

import java.time.Duration;
import java.time.Instant;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

/**
 * The parameters of a reconciliation.
 *
 * @param listener the id of the listener's container, or the name of a listener method as
 * in its log line at the start of the application
 * @param topic the topic, {@code null} for all topics of the listener
 * @param partition the partition, {@code null} for all
 * @param from the timestamp of the first record, {@code null} to begin with the oldest
 * record or with {@code fromOffset}
 * @param fromOffset the offset at which each partition begins, {@code null} to begin with
 * the oldest record or with {@code from}
 * @param to the timestamp of the first record that is left out, {@code null} to end with
 * the newest record at the beginning of the run
 * @param limit the largest number of records to read, at least 1
 * @param timeout the longest duration of the run, at least 1 ms
 * @param stuckAfter the time since the first claim after which an operation in progress
 * is {@link ReconciliationStatus#STUCK stuck}
 * @param examine whether completed keys are compared with the content of their record and
 * searched for declines, which costs one call of the store for each
 * @param listed the statuses to list besides the {@link ReconciliationStatus#isFinding()
 * findings}
 * @since 0.1.0
 */
public record ReconciliationRequest(String listener, @Nullable String topic, @Nullable Integer partition,
		@Nullable Instant from, @Nullable Long fromOffset, @Nullable Instant to, long limit, Duration timeout,
		Duration stuckAfter, boolean examine, Set<ReconciliationStatus> listed) {

	/**
	 * The default of {@code limit}.
	 */
	public static final long DEFAULT_LIMIT = 1_000_000;

	/**
	 * The default of {@code timeout}.
	 */
	public static final Duration DEFAULT_TIMEOUT = Duration.ofMinutes(30);

	/**
	 * The default of {@code stuckAfter}.
	 */
	public static final Duration DEFAULT_STUCK_AFTER = Duration.ofMinutes(10);

	private static final Duration SHORTEST = Duration.ofMillis(1);

	private static final Duration LONGEST = Duration.ofDays(36_500);

	private static final Instant LATEST = Instant.parse("9999-12-31T00:00:00Z");

	public ReconciliationRequest {
		Assert.hasText(listener, "'listener' is missing. Name a listener");
		Assert.isTrue(from == null || fromOffset == null, "'from' and an offset are given. Name one of them");
		Assert.isTrue(fromOffset == null || fromOffset >= 0,
				() -> "The offset is " + fromOffset + ". Set it to 0 or more");
		Assert.isTrue(partition == null || partition >= 0,
				() -> "'partition' is " + partition + ". Set it to 0 or more");
		Assert.isTrue(isTimestamp(from) && isTimestamp(to),
				"'from' or 'to' is out of range. Set it to a time from 1970 to 9999");
		Assert.isTrue(from == null || to == null || from.isBefore(to),
				() -> "'from' (" + from + ") must be before 'to' (" + to + ")");
		Assert.isTrue(limit >= 1, () -> "'limit' is " + limit + ". Set it to 1 or more");
		Assert.isTrue(isIn(SHORTEST, timeout),
				() -> "'timeout' is " + timeout + ". Set it to a value from 1ms to 36500d");
		Assert.isTrue(isIn(Duration.ZERO, stuckAfter),
				() -> "'stuck-after' is " + stuckAfter + ". Set it to a value from 0 to 36500d");
		listed = Set.copyOf(listed);
	}

	/**
	 * Create a request with the default limits.
	 * @param listener the id or the name of the listener
	 * @return the request for all records of its topics
	 */
	public static ReconciliationRequest of(String listener) {
		return new ReconciliationRequest(listener, null, null, null, null, null, DEFAULT_LIMIT, DEFAULT_TIMEOUT,
				DEFAULT_STUCK_AFTER, true, Set.of());
	}

	private static boolean isTimestamp(@Nullable Instant time) {
		return time == null || (!time.isBefore(Instant.EPOCH) && time.isBefore(LATEST));
	}

	private static boolean isIn(Duration min, Duration value) {
		return value.compareTo(min) >= 0 && value.compareTo(LONGEST) <= 0;
	}

	boolean lists(ReconciliationStatus status) {
		return status.isFinding() || this.listed.contains(status);
	}

}
