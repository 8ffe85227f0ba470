/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.concurrent.CompletableFuture;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.store.Claim;
import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LocalClaims}: of two claims at the same time, the store may answer the
 * blocked one first or last.
 */
@Tag("promise-2")
class LocalClaimsTests {

	private final IdempotencyKey key = TestDatabase.newKey();

	private final LocalClaims claims = new LocalClaims();

	private OwnedClaim claim() {
		IdempotentOperation operation = TestDatabase.operation(this.key, Mode.LEASED);
		return new OwnedClaim(operation, operation.newRequest(), new Claim.Acquired(1, 1), System.nanoTime());
	}

	private CompletableFuture<?> released() {
		return this.claims.released(this.key).toCompletableFuture();
	}

	@Test
	void claimThatIsAddedLaterEndsTheWait() {
		CompletableFuture<?> released = released();
		OwnedClaim claim = claim();
		this.claims.put(claim);
		assertThat(released).isNotDone();
		this.claims.remove(claim);
		assertThat(released).isDone();
	}

	@Test
	void claimThatHasReplacedAnotherEndsTheWait() {
		OwnedClaim replaced = claim();
		this.claims.put(replaced);
		OwnedClaim claim = claim();
		this.claims.put(claim);
		CompletableFuture<?> released = released();
		this.claims.remove(replaced);
		assertThat(released).isNotDone();
		this.claims.remove(claim);
		assertThat(released).isDone();
	}

	@Test
	void claimThatWasReplacedStaysUntilItIsRemoved() {
		OwnedClaim replaced = claim();
		this.claims.put(replaced);
		OwnedClaim claim = claim();
		assertThat(this.claims.put(claim)).isSameAs(replaced);
		assertThat(this.claims.all()).containsExactlyInAnyOrder(replaced, claim);
		assertThat(this.claims.remove(replaced)).isTrue();
		assertThat(this.claims.remove(replaced)).isFalse();
		assertThat(this.claims.all()).containsExactly(claim);
		assertThat(this.claims.remove(claim)).isTrue();
	}

	@Test
	void claimThatWasRemovedBeforeEndsOneWait() {
		OwnedClaim claim = claim();
		this.claims.put(claim);
		this.claims.remove(claim);
		assertThat(released()).isDone();
		assertThat(released()).isNotDone();
	}

}
