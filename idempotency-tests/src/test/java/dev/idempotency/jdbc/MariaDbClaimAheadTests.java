/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import javax.sql.DataSource;

import net.ttddyy.dsproxy.support.ProxyDataSourceBuilder;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.CompletionAndClaim;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for completions on MariaDB that claim another key, and for the statements that
 * claim a new key there.
 */
class MariaDbClaimAheadTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.mariaDb();

	private final AtomicInteger statements = new AtomicInteger();

	private final JdbcIdempotencyStore counting = counting();

	private final ClaimRequest owner = TestDatabase.request(TestDatabase.newKey());

	private final ClaimRequest next = TestDatabase.request(TestDatabase.newKey());

	private JdbcIdempotencyStore counting() {
		DataSource counted = ProxyDataSourceBuilder.create(database.pool())
			.afterQuery((execution, queries) -> this.statements.addAndGet(queries.size()))
			.build();
		return new JdbcIdempotencyStore(counted, TestDatabase.TABLE, TestDatabase.TIMEOUT);
	}

	private CompletionAndClaim completeAndClaim() {
		return database.store().completeAndClaim(new Ending.Completed(this.owner, null), this.next);
	}

	@Test
	void newKeyCostsOneStatementAndTheNextOneIsClaimedWithTheCompletion() {
		assertThat(this.counting.supportsClaimAhead()).isTrue();
		int before = this.statements.get();
		one(this.counting).claim(this.owner);
		assertThat(this.statements.get() - before).as("claim").isOne();
		assertThat(this.counting.completeAndClaim(new Ending.Completed(this.owner, null), this.next))
			.isEqualTo(new CompletionAndClaim(Settlement.SETTLED, new Claim.Acquired(1, 1)));
		assertThat(this.statements.get() - before).as("completion and claim").isEqualTo(2);
		assertThat(this.counting.claim(List.of(TestDatabase.request(this.owner.key()))))
			.hasOnlyElementsOfType(Claim.Completed.class);
		assertThat(this.statements.get() - before).as("duplicate").isEqualTo(3);
	}

	@Test
	void newKeyOfAJoinedTransactionCostsOneStatement() {
		int before = this.statements.get();
		new TransactionTemplate(new JdbcTransactionManager(this.counting.dataSource()))
			.executeWithoutResult((status) -> assertThat(this.counting.claimInTransaction(List.of(this.next), true))
				.containsExactly(new Claim.Acquired(1, 1)));
		assertThat(this.statements.get() - before).isOne();
	}

	@Test
	void ownerThatRepeatsItsClaimGetsANewLease() {
		one(database.store()).claim(this.owner);
		database.endLease(this.owner.key());
		assertThat(one(database.store()).claim(this.owner)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(database.store()).claim(TestDatabase.request(this.owner.key())))
			.isInstanceOf(Claim.InProgress.class);
	}

	@Test
	@Tag("promise-4")
	void ownerThatIsUnknownOrHasLostItsKeyWritesNothing() {
		assertThat(completeAndClaim()).isEqualTo(new CompletionAndClaim(Settlement.FORGOTTEN, null));
		assertThat(count()).isZero();
		one(database.store()).claim(TestDatabase.request(this.owner.key()));
		assertThat(completeAndClaim()).isEqualTo(new CompletionAndClaim(Settlement.LOST, null));
		assertThat(count()).isOne();
		assertThat(database.record(this.owner.key()).state()).isEqualTo(State.IN_PROGRESS);
	}

	private int count() {
		return one(database.store()).find(this.owner.key()).map((found) -> 1).orElse(0)
				+ one(database.store()).find(this.next.key()).map((found) -> 1).orElse(0);
	}

}
