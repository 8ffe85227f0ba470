/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * The record of a key, as an operator sees it.
 *
 * @param key the key
 * @param state the state
 * @param fence the fencing token of the last claim
 * @param attempt the number of starts of the operation since it last completed
 * @param claimedUntil the time at which the current claim expires, {@code null} unless in
 * progress
 * @param createdAt the time of the first claim of the key
 * @param completedAt the time of the completion by the clock of the store; in
 * transactional mode the time at which the record was inserted, before the handler ran.
 * {@code null} unless completed
 * @param expiresAt the time at which the retention ends
 * @param failure the failure of the last attempt, {@code null} if there is none
 * @param version the version that completed last, {@code null} if there is none
 * @since 0.1.0
 */
public record IdempotencyRecord(IdempotencyKey key, State state, int fence, int attempt, @Nullable Instant claimedUntil,
		Instant createdAt, @Nullable Instant completedAt, Instant expiresAt, @Nullable Failure failure,
		@Nullable Long version) {

	/**
	 * Whether the current claim is alive.
	 * @param now the time by the clock of the store
	 * @return whether the record is in progress, and its claim has not expired
	 */
	public boolean isLive(Instant now) {
		return this.claimedUntil != null && now.isBefore(this.claimedUntil);
	}

	/**
	 * Whether the current claim has expired, and no consumer has taken it over.
	 * @param now the time by the clock of the store
	 * @return whether the record is in progress, and its claim has expired
	 */
	public boolean isStuck(Instant now) {
		return this.claimedUntil != null && !isLive(now);
	}

	/**
	 * The state of a record.
	 */
	public enum State {

		/**
		 * The key has a claim that is not settled. The claim may have expired.
		 */
		IN_PROGRESS,

		/**
		 * The operation has completed. Every further delivery is a duplicate.
		 */
		COMPLETED,

		/**
		 * The operation has failed, or its claim was released. The key may be claimed at
		 * once.
		 */
		FAILED

	}

}
