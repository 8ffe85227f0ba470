/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.store.IdempotencyStore;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Creates requests for keys and evaluates their answers.
 */
final class Requests {

	static final Duration LEASE = Duration.ofMinutes(1);

	static final Duration RETENTION = Duration.ofHours(1);

	static final Failure FAILURE = new Failure("java.io.IOException", "no route");

	private Requests() {
	}

	static IdempotencyKey newKey() {
		return IdempotencyKey.of("contract", UUID.randomUUID().toString());
	}

	static ClaimRequest request(IdempotencyKey key) {
		return request(key, LEASE, RETENTION);
	}

	static ClaimRequest request(IdempotencyKey key, Duration lease) {
		return request(key, lease, RETENTION);
	}

	static ClaimRequest request(IdempotencyKey key, Duration lease, Duration retention) {
		return new ClaimRequest(key, UUID.randomUUID(), null, lease, retention);
	}

	static ClaimRequest request(IdempotencyKey key, @Nullable String content, Duration lease, Duration retention) {
		byte[] fingerprint = (content != null) ? Fingerprint.of(content.getBytes(StandardCharsets.UTF_8)) : null;
		return new ClaimRequest(key, UUID.randomUUID(), fingerprint, lease, retention);
	}

	static ClaimRequest version(IdempotencyKey key, long version) {
		return version(key, version, null, LEASE, RETENTION);
	}

	static ClaimRequest version(IdempotencyKey key, long version, @Nullable String content, Duration lease,
			Duration retention) {
		ClaimRequest request = request(key, content, lease, retention);
		return new ClaimRequest(key, request.token(), request.fingerprint(), lease, retention, version);
	}

	static boolean isAcquired(Claim claim) {
		return claim instanceof Claim.Acquired;
	}

	static Claim.Acquired acquire(IdempotencyStore store, ClaimRequest request) {
		Claim claim = one(store).claim(request);
		assertThat(claim).isInstanceOf(Claim.Acquired.class);
		return (Claim.Acquired) claim;
	}

}
