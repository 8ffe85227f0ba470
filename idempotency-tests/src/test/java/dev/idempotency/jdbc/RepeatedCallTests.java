/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for calls of {@link JdbcIdempotencyStore} that the owner repeats, for instance
 * after an error with an unknown outcome.
 */
@ParameterizedClass
@MethodSource("databases")
@Tag("promise-4")
class RepeatedCallTests {

	@Parameter
	private TestDatabase database;

	private final IdempotencyKey key = TestDatabase.newKey();

	private final ClaimRequest owner = TestDatabase.request(this.key);

	static List<Named<TestDatabase>> databases() {
		return List.of(Named.of("PostgreSQL", TestDatabase.create()), Named.of("H2", TestDatabase.h2()));
	}

	private Claim claim() {
		return one(this.database.store()).claim(this.owner);
	}

	private Settlement fail(String type) {
		return one(this.database.store()).fail(this.owner, new Failure(type, null));
	}

	@Test
	void repeatedClaimKeepsItsFence() {
		assertThat(claim()).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(claim()).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	void repeatedExpiredClaimKeepsItsFenceAndGetsANewLease() {
		claim();
		this.database.endLease(this.key);
		assertThat(claim()).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(this.database.store()).claim(TestDatabase.request(this.key)))
			.isInstanceOf(Claim.InProgress.class);
	}

	@Test
	void repeatedClaimKeepsItsAttempt() {
		this.database.store()
			.settleAfterTransaction(Endings.failed(List.of(TestDatabase.request(this.key)), new Failure("first", null)),
					List.of());
		assertThat(claim()).isEqualTo(new Claim.Acquired(2, 2));
		assertThat(claim()).isEqualTo(new Claim.Acquired(2, 2));
	}

	@Test
	void repeatedClaimIsNotAcquiredAfterATakeover() {
		claim();
		this.database.endLease(this.key);
		one(this.database.store()).claim(TestDatabase.request(this.key));
		assertThat(claim()).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-3")
	void repeatedClaimIsNotAcquiredAfterItsCompletion() {
		claim();
		one(this.database.store()).complete(this.owner, null);
		assertThat(claim()).isEqualTo(new Claim.Completed(null));
	}

	@Test
	void repeatedCompletionKeepsTheFirstResult() {
		claim();
		assertThat(one(this.database.store()).complete(this.owner, new byte[] { 1 })).isEqualTo(Settlement.SETTLED);
		assertThat(one(this.database.store()).complete(this.owner, new byte[] { 2 })).isEqualTo(Settlement.SETTLED);
		assertThat(claim()).isInstanceOfSatisfying(Claim.Completed.class,
				(claim) -> assertThat(claim.result()).containsExactly(1));
	}

	@Test
	void repeatedFailureIsSettledAndChangesNothing() {
		claim();
		assertThat(fail("first")).isEqualTo(Settlement.SETTLED);
		assertUnchanged(() -> assertThat(fail("second")).isEqualTo(Settlement.SETTLED));
	}

	@Test
	void repeatedReleaseRestoresOneAttemptOnly() {
		claim();
		assertThat(one(this.database.store()).release(this.owner)).isEqualTo(Settlement.SETTLED);
		assertUnchanged(() -> assertThat(one(this.database.store()).release(this.owner)).isEqualTo(Settlement.SETTLED));
	}

	@Test
	void releaseAfterAFailureIsSettledAndChangesNothing() {
		claim();
		fail("first");
		assertUnchanged(() -> assertThat(one(this.database.store()).release(this.owner)).isEqualTo(Settlement.SETTLED));
	}

	@Test
	void failureAfterAReleaseIsSettledAndChangesNothing() {
		claim();
		one(this.database.store()).release(this.owner);
		assertUnchanged(() -> assertThat(fail("late")).isEqualTo(Settlement.SETTLED));
	}

	@Test
	void completionAfterAReleaseIsLost() {
		claim();
		one(this.database.store()).release(this.owner);
		assertUnchanged(
				() -> assertThat(one(this.database.store()).complete(this.owner, null)).isEqualTo(Settlement.LOST));
	}

	@Test
	void failureAndReleaseAfterATakeoverAreLost() {
		claim();
		fail("first");
		one(this.database.store()).claim(TestDatabase.request(this.key));
		assertUnchanged(() -> {
			assertThat(fail("late")).isEqualTo(Settlement.LOST);
			assertThat(one(this.database.store()).release(this.owner)).isEqualTo(Settlement.LOST);
		});
	}

	private void assertUnchanged(Runnable action) {
		IdempotencyRecord before = this.database.record(this.key);
		action.run();
		assertThat(this.database.record(this.key)).isEqualTo(before);
	}

}
