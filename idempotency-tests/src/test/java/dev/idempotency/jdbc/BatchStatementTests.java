/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for the number of statements of a batch.
 */
class BatchStatementTests {

	private static final Failure FAILURE = new Failure("x", null);

	private static final AtomicInteger STATEMENTS = new AtomicInteger();

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private static JdbcIdempotencyStore store;

	private static TransactionTemplate transactions;

	private final List<ClaimRequest> requests = requests(500);

	@BeforeAll
	static void createStore() {
		DataSource counted = ProxyDataSourceBuilder.create(database.pool())
			.afterQuery((execution, queries) -> STATEMENTS.addAndGet(queries.size()))
			.build();
		store = new JdbcIdempotencyStore(counted, TestDatabase.TABLE, TestDatabase.TIMEOUT);
		transactions = new TransactionTemplate(new JdbcTransactionManager(counted));
	}

	private static List<ClaimRequest> requests(int size) {
		return Stream.generate(() -> TestDatabase.request(TestDatabase.newKey())).limit(size).toList();
	}

	@Test
	void leasedBatchWithDuplicatesCostsOneStatementToClaimAndOneToComplete() {
		List<ClaimRequest> known = this.requests.stream()
			.limit(100)
			.map((request) -> TestDatabase.request(request.key()))
			.toList();
		store.claim(known);
		store.settle(Endings.completed(known, new byte[] { 1 }));
		assertThat(count(
				() -> assertThat(store.claim(this.requests)).filteredOn(Claim.Acquired.class::isInstance).hasSize(400)))
			.isOne();
		List<ClaimRequest> owners = this.requests.subList(100, 500);
		assertThat(count(() -> assertThat(store.settle(Endings.completed(owners, new byte[] { 1 }))).hasSize(400)
			.containsOnly(Settlement.SETTLED))).isOne();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void batchInATransactionCostsOneStatementToClaimAndOneForItsResults(boolean insert) {
		transactions.executeWithoutResult((status) -> {
			assertThat(count(() -> {
				if (insert) {
					store.insert(this.requests);
				}
				else {
					store.claimInTransaction(this.requests, false);
				}
			})).isOne();
			assertThat(count(() -> store.storeResults(
					this.requests.stream().map((owner) -> new Ending.Completed(owner, new byte[] { 1 })).toList())))
				.isOne();
		});
	}

	@Test
	void failuresAndReleasesOfABatchCostOneStatement() {
		store.claim(this.requests);
		assertThat(count(() -> store.settle(Endings.released(this.requests.subList(0, 250))))).isOne();
		assertThat(count(() -> store.settle(Endings.failed(this.requests.subList(250, 500), FAILURE)))).isOne();
		assertThat(count(() -> store.settleAfterTransaction(Endings.failed(this.requests, FAILURE), List.of())))
			.isOne();
	}

	@Test
	void endingsOfSeveralKindsCostOneStatementForEachKindAndFailure() {
		store.claim(this.requests);
		List<Ending> endings = new ArrayList<>(Endings.completed(this.requests.subList(0, 100), null));
		endings.addAll(Endings.released(this.requests.subList(100, 200)));
		endings.addAll(Endings.failed(this.requests.subList(200, 300), FAILURE));
		endings.addAll(Endings.failed(this.requests.subList(300, 500), new Failure("another", null)));
		assertThat(count(() -> assertThat(store.settle(endings)).hasSize(500).containsOnly(Settlement.SETTLED)))
			.isEqualTo(4);
	}

	@Test
	void completionAfterTheTransactionIsRefused() {
		assertThatIllegalArgumentException()
			.isThrownBy(() -> store.settleAfterTransaction(Endings.completed(this.requests, null), List.of()));
	}

	@Test
	void batchWithTheSameKeyTwiceIsRejected() {
		ClaimRequest first = this.requests.get(0);
		List<ClaimRequest> twice = List.of(first, TestDatabase.request(first.key()));
		assertThatIllegalStateException().isThrownBy(() -> store.claim(twice));
		assertThat(one(store).find(first.key())).isEmpty();
	}

	@Test
	void emptyBatchesCostNothing() {
		assertThat(count(() -> {
			store.claim(List.of());
			store.settle(List.of());
			store.renew(List.of());
			store.settleAfterTransaction(List.of(), List.of());
			transactions.executeWithoutResult((status) -> {
				store.insert(List.of());
				store.claimInTransaction(List.of(), true);
				store.storeResults(List.of());
			});
		})).isZero();
	}

	private static int count(Runnable action) {
		int before = STATEMENTS.get();
		action.run();
		return STATEMENTS.get() - before;
	}

}
