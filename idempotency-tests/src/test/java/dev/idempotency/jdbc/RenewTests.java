/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * Tests for batch renewals of {@link JdbcIdempotencyStore}.
 */
@ParameterizedClass
@MethodSource("databases")
@Tag("promise-7")
class RenewTests {

	private final AtomicInteger statements = new AtomicInteger();

	@Parameter
	private TestDatabase database;

	private JdbcIdempotencyStore store;

	private final ClaimRequest first = TestDatabase.request(TestDatabase.newKey());

	private final ClaimRequest second = TestDatabase.request(TestDatabase.newKey());

	private final ClaimRequest third = TestDatabase.request(TestDatabase.newKey());

	static List<Named<TestDatabase>> databases() {
		return List.of(Named.of("PostgreSQL", TestDatabase.create()), Named.of("H2", TestDatabase.h2()));
	}

	@BeforeEach
	void claim() {
		DataSource counted = ProxyDataSourceBuilder.create(this.database.pool())
			.afterQuery((execution, queries) -> this.statements.addAndGet(
					(int) queries.stream().filter((query) -> query.getQuery().contains(TestDatabase.TABLE)).count()))
			.build();
		this.store = new JdbcIdempotencyStore(counted, TestDatabase.TABLE, TestDatabase.TIMEOUT);
		List.of(this.first, this.second, this.third).forEach((request) -> {
			one(this.database.store()).claim(request);
			this.database.endLease(request.key());
		});
	}

	private Claim claimElsewhere(ClaimRequest request) {
		return one(this.database.store()).claim(TestDatabase.request(request.key()));
	}

	@Test
	void expiredLeasesAreRenewed() {
		assertThat(this.store.renew(List.of(this.first, this.second))).containsExactly(Settlement.SETTLED,
				Settlement.SETTLED);
		assertThat(claimElsewhere(this.first)).isInstanceOfSatisfying(Claim.InProgress.class,
				(claim) -> assertThat(claim.retryAfter()).isBetween(Duration.ofSeconds(50), TestDatabase.LEASE));
		assertThat(claimElsewhere(this.second)).isInstanceOf(Claim.InProgress.class);
	}

	@Test
	void leasesOfOtherOwnersAreUnchanged() {
		this.store.renew(List.of(this.first));
		assertThat(claimElsewhere(this.second)).isEqualTo(new Claim.Acquired(2, 2));
	}

	@Test
	@Tag("promise-4")
	void settlementsAreInTheOrderOfTheRequests() {
		claimElsewhere(this.first);
		one(this.database.store()).complete(this.third, null);
		assertThat(this.store.renew(List.of(this.third, this.second, this.first))).containsExactly(Settlement.LOST,
				Settlement.SETTLED, Settlement.LOST);
	}

	@Test
	void unknownKeyIsForgotten() {
		assertThat(this.store.renew(List.of(TestDatabase.request(TestDatabase.newKey()))))
			.containsExactly(Settlement.FORGOTTEN);
	}

	@Test
	void batchCostsOneStatement() {
		this.store.renew(List.of(this.first, this.second, this.third));
		assertThat(this.statements).hasValue(1);
	}

	@Test
	void emptyBatchCostsNothing() {
		assertThat(this.store.renew(List.of())).isEmpty();
		assertThat(this.statements).hasValue(0);
	}

	@Test
	void otherKeysAreRenewedWhileOneIsBeingTakenOver() {
		assumeThat(this.database.pool().getJdbcUrl()).contains("postgresql");
		new TransactionTemplate(new JdbcTransactionManager(this.database.pool())).executeWithoutResult((status) -> {
			this.database.store().claimInTransaction(List.of(TestDatabase.request(this.second.key())), false).get(0);
			Instant before = this.database.record(this.first.key()).claimedUntil();
			assertThat(CompletableFuture.supplyAsync(() -> this.store.renew(List.of(this.first, this.second))))
				.failsWithin(5, TimeUnit.SECONDS)
				.withThrowableThat()
				.withCauseInstanceOf(OperationInProgressException.class);
			assertThat(this.database.record(this.first.key()).claimedUntil()).isAfter(before);
		});
	}

}
