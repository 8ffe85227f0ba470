/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.Instant;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * The transitions of a key, which a test replaces by wrong ones.
 */
class TransitionRules {

	Transition<Claim> claim(@Nullable StoredRecord current, ClaimRequest request, Instant now) {
		return Transition.claim(current, request, now);
	}

	Transition<Settlement> complete(@Nullable StoredRecord current, ClaimRequest claim, Instant now) {
		return Transition.settle(current, new Ending.Completed(claim, null), now);
	}

	Transition<Settlement> fail(@Nullable StoredRecord current, ClaimRequest claim, Instant now) {
		return Transition.settle(current, new Ending.Failed(claim, new Failure("type", null)), now);
	}

	Transition<Settlement> release(@Nullable StoredRecord current, ClaimRequest claim, Instant now) {
		return Transition.settle(current, new Ending.Released(claim), now);
	}

	Transition<Settlement> renew(@Nullable StoredRecord current, ClaimRequest claim, Instant now) {
		return Transition.renew(current, claim, now);
	}

	Transition<Settlement> restore(@Nullable StoredRecord current, ClaimRequest claim, Claim.Acquired acquired,
			Instant now) {
		return Transition.restore(current, claim, acquired, now);
	}

}
