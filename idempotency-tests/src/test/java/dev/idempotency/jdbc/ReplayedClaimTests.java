/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for claims of a thread that has met many duplicates and therefore reads a record
 * first. The answers are those of any claim.
 */
class ReplayedClaimTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest owner = TestDatabase.request(this.key, "content");

	@BeforeEach
	void replay() {
		ClaimRequest completed = TestDatabase.request(TestDatabase.newKey());
		one(database.store()).claim(completed);
		one(database.store()).complete(completed, new byte[] { 7 });
		for (int i = 0; i < 20; i++) {
			assertThat(one(database.store()).claim(TestDatabase.request(completed.key()))).isInstanceOfSatisfying(
					Claim.Completed.class, (claim) -> assertThat(claim.result()).containsExactly(7));
		}
	}

	@Test
	void newKeyIsClaimed() {
		assertThat(one(database.store()).claim(this.owner)).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	void ownerThatRepeatsItsClaimKeepsIt() {
		one(database.store()).claim(this.owner);
		replay();
		assertThat(one(database.store()).claim(this.owner)).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	void keyInProgressIsReported() {
		one(database.store()).claim(this.owner);
		replay();
		assertThat(one(database.store()).claim(TestDatabase.request(this.key, "content")))
			.isInstanceOfSatisfying(Claim.InProgress.class, (claim) -> assertThat(claim.retryAfter())
				.isBetween(TestDatabase.LEASE.minusSeconds(10), TestDatabase.LEASE));
	}

	@Test
	void otherContentIsRefused() {
		one(database.store()).claim(this.owner);
		replay();
		assertThat(one(database.store()).claim(TestDatabase.request(this.key, "other")))
			.isEqualTo(new Claim.Mismatch());
	}

	@Test
	void releasedKeyIsClaimed() {
		one(database.store()).claim(this.owner);
		one(database.store()).release(this.owner);
		replay();
		assertThat(one(database.store()).claim(TestDatabase.request(this.key, "content")))
			.isEqualTo(new Claim.Acquired(2, 1));
	}

	@Test
	void expiredLeaseIsTakenOver() {
		one(database.store()).claim(TestDatabase.request(this.key, Duration.ofMillis(1)));
		replay();
		assertThat(one(database.store()).claim(TestDatabase.request(this.key))).isEqualTo(new Claim.Acquired(2, 2));
	}

}
