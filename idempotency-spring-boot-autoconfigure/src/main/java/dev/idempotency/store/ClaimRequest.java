/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Duration;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * The request for a key, and later the proof of its ownership.
 *
 * @param key the key
 * @param token the owner token, unique for every request
 * @param fingerprint the {@link Fingerprint} of the content that the key stands for,
 * {@code null} to compare nothing
 * @param lease the time after which the claim expires without renewal
 * @param retention the time for which the key is remembered, counted from the claim;
 * longer than the lease
 * @param version the version of the content, {@code null} if the key has no versions:
 * only a version above the last completed one of the key is run
 * @since 0.1.0
 */
public record ClaimRequest(IdempotencyKey key, UUID token, byte @Nullable [] fingerprint, Duration lease,
		Duration retention, @Nullable Long version) {

	/**
	 * Create a request for a key without versions.
	 * @param key the key
	 * @param token the owner token, unique for every request
	 * @param fingerprint the {@link Fingerprint} of the content that the key stands for,
	 * {@code null} to compare nothing
	 * @param lease the time after which the claim expires without renewal
	 * @param retention the time for which the key is remembered, counted from the claim
	 */
	public ClaimRequest(IdempotencyKey key, UUID token, byte @Nullable [] fingerprint, Duration lease,
			Duration retention) {
		this(key, token, fingerprint, lease, retention, null);
	}

	/**
	 * Return the same request for any content.
	 * @return the request without a fingerprint
	 */
	public ClaimRequest withoutFingerprint() {
		return new ClaimRequest(this.key, this.token, null, this.lease, this.retention, this.version);
	}

}
