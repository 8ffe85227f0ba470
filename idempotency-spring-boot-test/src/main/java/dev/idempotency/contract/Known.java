/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.time.Duration;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;

/**
 * The states of a key that has a record.
 */
enum Known {

	LIVE, EXPIRED, FAILED, RELEASED, COMPLETED;

	ClaimRequest reach(StoreContract contract, IdempotencyKey key) {
		return reach(contract, key, null);
	}

	// Returns the request of the owner.
	ClaimRequest reach(StoreContract contract, IdempotencyKey key, @Nullable String content) {
		Duration lease = (this == EXPIRED) ? contract.lease() : Requests.LEASE;
		ClaimRequest owner = Requests.request(key, content, lease, Requests.RETENTION);
		Requests.acquire(contract.store(), owner);
		switch (this) {
			case LIVE -> {
			}
			case EXPIRED -> contract.letExpire(owner);
			case FAILED -> Mutation.FAIL.apply(contract.store(), owner);
			case RELEASED -> Mutation.RELEASE.apply(contract.store(), owner);
			case COMPLETED -> Mutation.COMPLETE.apply(contract.store(), owner);
		}
		return owner;
	}

}
