/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.store.TransactionalIdempotencyStore;

import static dev.idempotency.contract.OneKey.one;

/**
 * Helpers for the tests of transactions.
 */
interface TransactionContract extends StoreContract {

	@Override
	TransactionalIdempotencyStore store();

	PlatformTransactionManager transactionManager();

	default <T> T commit(Supplier<T> action) {
		return new TransactionTemplate(transactionManager()).execute((status) -> action.get());
	}

	default void rollBack(Runnable action) {
		new TransactionTemplate(transactionManager()).executeWithoutResult((status) -> {
			action.run();
			status.setRollbackOnly();
		});
	}

	default Optional<Claim.Acquired> insert(IdempotencyKey key) {
		return one(store()).insert(Requests.request(key));
	}

	// Another thread does not take part in the transaction of this thread.
	default void elsewhere(Runnable action) {
		CompletableFuture.runAsync(action).orTimeout(30, TimeUnit.SECONDS).join();
	}

	default List<Settlement> noteFailures(List<ClaimRequest> claims) {
		return store().settleAfterTransaction(Endings.failed(claims, Requests.FAILURE), List.of());
	}

}
