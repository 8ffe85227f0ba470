/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for completions of a {@link JdbcIdempotencyStore} that claim another key.
 */
class JdbcClaimAheadTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	@RegisterExtension
	static TestDatabase mariaDb = TestDatabase.mariaDb();

	static Stream<Named<TestDatabase>> databases() {
		return Stream.of(Named.of("PostgreSQL", database), Named.of("MariaDB", mariaDb));
	}

	private final ClaimRequest owner = TestDatabase.request(TestDatabase.newKey());

	private final ClaimRequest next = TestDatabase.request(TestDatabase.newKey());

	@Test
	void singleLayoutOfPostgresSupportsIt() {
		assertThat(database.store().supportsClaimAhead()).isTrue();
	}

	@Test
	void partitionedLayoutCompletesAndClaimsWithTwoStatements() {
		try (TestDatabase partitioned = TestDatabase.partitioned()) {
			assertInTwoSteps(partitioned);
		}
	}

	@Test
	void h2CompletesAndClaimsWithTwoStatements() {
		try (TestDatabase h2 = TestDatabase.h2()) {
			assertInTwoSteps(h2);
		}
	}

	private void assertInTwoSteps(TestDatabase other) {
		assertThat(other.store().supportsClaimAhead()).isFalse();
		one(other.store()).claim(this.owner);
		assertThat(other.store().completeAndClaim(new Ending.Completed(this.owner, null), this.next))
			.isEqualTo(new CompletionAndClaim(Settlement.SETTLED, new Claim.Acquired(1, 1)));
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("databases")
	void completionDoesNotWaitLongForTheOtherKey(TestDatabase database) {
		one(database.store()).claim(this.owner);
		new TransactionTemplate(new JdbcTransactionManager(database.pool())).executeWithoutResult((status) -> {
			one(database.store()).insert(this.next);
			long start = System.nanoTime();
			CompletableFuture
				.runAsync(() -> assertThatExceptionOfType(OperationInProgressException.class).isThrownBy(
						() -> database.store().completeAndClaim(new Ending.Completed(this.owner, null), this.next)))
				.orTimeout(5, TimeUnit.SECONDS)
				.join();
			assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(TestDatabase.TIMEOUT.dividedBy(3));
		});
		assertThat(database.record(this.owner.key()).state()).isEqualTo(State.IN_PROGRESS);
	}

	@ParameterizedTest(autoCloseArguments = false)
	@MethodSource("databases")
	void ownersThatClaimEachOthersExpiredKeysDoNotBlockEachOther(TestDatabase database) {
		for (int i = 0; i < 20; i++) {
			ClaimRequest first = TestDatabase.request(TestDatabase.newKey());
			ClaimRequest second = TestDatabase.request(TestDatabase.newKey());
			one(database.store()).claim(first);
			one(database.store()).claim(second);
			database.endLease(first.key());
			database.endLease(second.key());
			CompletableFuture<Void> one = CompletableFuture
				.runAsync(() -> completeAndClaim(database.store(), first, second));
			CompletableFuture<Void> two = CompletableFuture
				.runAsync(() -> completeAndClaim(database.store(), second, first));
			CompletableFuture.allOf(one, two).orTimeout(5, TimeUnit.SECONDS).join();
		}
	}

	// A deadlock is contention: the caller completes alone.
	private static void completeAndClaim(JdbcIdempotencyStore store, ClaimRequest owner, ClaimRequest key) {
		try {
			store.completeAndClaim(new Ending.Completed(owner, null), TestDatabase.request(key.key()));
		}
		catch (OperationInProgressException ex) {
			assertThat(one(store).complete(owner, null)).isIn(Settlement.SETTLED, Settlement.LOST);
		}
	}

}
