/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;

import static dev.idempotency.contract.OneKey.one;

/**
 * Creates requests for keys in different states.
 */
final class Batch {

	private final StoreContract contract;

	Batch(StoreContract contract) {
		this.contract = contract;
	}

	ClaimRequest absent() {
		return Requests.request(Requests.newKey());
	}

	// With other content than before.
	ClaimRequest knownWithOtherContent(Known known) {
		return known(known.reach(this.contract, Requests.newKey(), "a"), "b");
	}

	ClaimRequest known(Known known) {
		IdempotencyKey key = Requests.newKey();
		known.reach(this.contract, key);
		return Requests.request(key);
	}

	// By another owner.
	ClaimRequest known(ClaimRequest owner) {
		return known(owner, null);
	}

	ClaimRequest known(ClaimRequest owner, @Nullable String content) {
		return Requests.request(owner.key(), content, Requests.LEASE, Requests.RETENTION);
	}

	// The result of a key is the key if it has content, else the token.
	ClaimRequest completed(@Nullable String content) {
		IdempotencyKey key = Requests.newKey();
		if (content == null) {
			return Known.COMPLETED.reach(this.contract, key);
		}
		ClaimRequest owner = Known.LIVE.reach(this.contract, key, content);
		one(this.contract.store()).complete(owner, key.value().getBytes(StandardCharsets.UTF_8));
		return owner;
	}

	static Ending.Completed completion(ClaimRequest claim) {
		return new Ending.Completed(claim, claim.key().value().getBytes(StandardCharsets.UTF_8));
	}

	static String describe(Claim claim) {
		if (claim instanceof Claim.Acquired acquired) {
			return "attempt " + acquired.attempt();
		}
		if (claim instanceof Claim.Completed completed) {
			return "completed with " + ((completed.result() != null)
					? new String(completed.result(), StandardCharsets.UTF_8) : "nothing");
		}
		return (claim instanceof Claim.Mismatch) ? "mismatch" : "in progress";
	}

}
