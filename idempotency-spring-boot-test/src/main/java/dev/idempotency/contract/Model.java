/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Optional;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.StoredRecord;
import dev.idempotency.store.Transition;

/**
 * The expected state of a key while no time passes, by {@link Transition}. Answers are
 * compared as text, so that a difference is readable. Fences need not be consecutive.
 */
final class Model {

	private static final Instant NOW = Instant.EPOCH;

	private @Nullable StoredRecord record;

	String claim(ClaimRequest request) {
		Claim expected = Transition.claim(this.record, request, NOW).answer();
		return (this.record == null && expected instanceof Claim.Acquired acquired)
				? acquiredWith("larger", acquired.attempt()) : describe(expected);
	}

	String describe(Claim claim) {
		if (claim instanceof Claim.Acquired acquired) {
			int difference = Integer.compare(acquired.fence(), (this.record != null) ? this.record.fence() : 0);
			return acquiredWith((difference > 0) ? "larger" : (difference < 0) ? "smaller" : "same",
					acquired.attempt());
		}
		if (claim instanceof Claim.Completed completed) {
			return "completed with " + ((completed.result() != null)
					? new String(completed.result(), StandardCharsets.UTF_8) : "nothing");
		}
		return (claim instanceof Claim.InProgress) ? "in progress" : claim.toString();
	}

	private static String acquiredWith(String fence, int attempt) {
		return "acquired with the " + fence + " fence for attempt " + attempt;
	}

	void acquired(ClaimRequest request, Claim.Acquired claim) {
		this.record = Transition.restore(null, request, claim, NOW).next();
	}

	Settlement settle(Mutation mutation, ClaimRequest request) {
		Transition<Settlement> transition = mutation.transition(this.record, request, NOW);
		this.record = transition.next();
		return transition.answer();
	}

	String describe(Optional<IdempotencyRecord> found) {
		return found.map(Model::text).orElse("nothing");
	}

	private static String text(IdempotencyRecord record) {
		return record.state() + ((record.failure() != null) ? " with a failure" : "") + ", fence " + record.fence()
				+ ", attempt " + record.attempt();
	}

	@Override
	public String toString() {
		return (this.record != null) ? text(this.record.toRecord(Requests.newKey())) : "nothing";
	}

}
