/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.contract.Endings;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a store that implements only the methods without a default implementation.
 */
class StoreDefaultsTests {

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final TransactionalIdempotencyStore store = (TransactionalIdempotencyStore) Proxy.newProxyInstance(
			StoreDefaultsTests.class.getClassLoader(), new Class<?>[] { TransactionalIdempotencyStore.class },
			this::call);

	private final TransactionTemplate transaction = new TransactionTemplate(
			new JdbcTransactionManager(database.pool()));

	private final ClaimRequest first = TestDatabase.request(TestDatabase.newKey());

	private final ClaimRequest second = TestDatabase.request(TestDatabase.newKey());

	private Object call(Object proxy, Method method, Object[] arguments) throws Throwable {
		try {
			return method.isDefault() ? InvocationHandler.invokeDefault(proxy, method, arguments)
					: method.invoke(database.store(), arguments);
		}
		catch (InvocationTargetException ex) {
			throw ex.getTargetException();
		}
	}

	private State state(ClaimRequest claim) {
		return database.record(claim.key()).state();
	}

	@Test
	void storeSupportsLeasesAndEachIsolationLevel() {
		assertThat(this.store.leaseProblem()).isNull();
		assertThat(this.store.isolationProblem(TransactionDefinition.ISOLATION_SERIALIZABLE)).isNull();
		assertThat(this.store.records()).isEmpty();
	}

	@Test
	void keysAreClaimedAndTheirResultsStoredInATransaction() {
		byte[] result = "result".getBytes(StandardCharsets.UTF_8);
		this.transaction.executeWithoutResult((status) -> {
			assertThat(one(this.store).insert(this.first)).contains(new Claim.Acquired(1, 1));
			assertThat(this.store.claimInTransaction(List.of(this.second), false).get(0))
				.isEqualTo(new Claim.Acquired(1, 1));
			this.store.storeResults(List.of(new Ending.Completed(this.first, result)));
			this.store.requireCommittable();
		});
		assertThat(one(this.store).claim(TestDatabase.request(this.first.key())))
			.isInstanceOfSatisfying(Claim.Completed.class, (first) -> assertThat(first.result()).isEqualTo(result));
		assertThat(one(this.store).claim(TestDatabase.request(this.second.key())))
			.isInstanceOfSatisfying(Claim.Completed.class, (second) -> assertThat(second.result()).isNull());
	}

	@Test
	void failuresAreNotedAfterATransaction() {
		assertThat(this.store.settleAfterTransaction(
				Endings.failed(List.of(this.first, this.second), new Failure("type", "message")), List.of()))
			.containsExactly(Settlement.SETTLED, Settlement.SETTLED);
		assertThat(state(this.first)).isEqualTo(State.FAILED);
		assertThat(state(this.second)).isEqualTo(State.FAILED);
	}

	@Test
	void keyIsClaimedAndSettledInEachWay() {
		assertThat(one(this.store).claim(this.first)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(this.store).renew(this.first)).isEqualTo(Settlement.SETTLED);
		assertThat(one(this.store).fail(this.first, new Failure("type", null))).isEqualTo(Settlement.SETTLED);
		assertThat(state(this.first)).isEqualTo(State.FAILED);
		one(this.store).claim(this.first);
		assertThat(one(this.store).release(this.first)).isEqualTo(Settlement.SETTLED);
		one(this.store).claim(this.first);
		assertThat(one(this.store).complete(this.first, null)).isEqualTo(Settlement.SETTLED);
		assertThat(one(this.store).find(this.first.key()).map(IdempotencyRecord::state)).contains(State.COMPLETED);
	}

}
