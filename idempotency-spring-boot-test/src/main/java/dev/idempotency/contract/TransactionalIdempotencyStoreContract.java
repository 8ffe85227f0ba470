/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * The obligations of every {@link TransactionalIdempotencyStore}, including those of
 * every store.
 *
 * @since 0.1.0
 */
public abstract class TransactionalIdempotencyStoreContract extends IdempotencyStoreContract
		implements BatchTransactionContract, InsertContract, NotedFailureContract, OffsetContract,
		TransactionClaimContract, VersionTransactionContract {

	@Override
	public abstract TransactionalIdempotencyStore store();

	/**
	 * Return the manager of the transactions in which the store takes part.
	 * @return the transaction manager
	 */
	@Override
	public abstract PlatformTransactionManager transactionManager();

}
