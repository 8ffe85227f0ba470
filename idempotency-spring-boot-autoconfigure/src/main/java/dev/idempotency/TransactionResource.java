/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.util.function.Supplier;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * An object that is bound to the transaction that is active on this thread, and that
 * follows its suspension.
 *
 * @since 0.1.0
 */
@Internal
public abstract class TransactionResource implements TransactionSynchronization {

	private final Object key;

	protected TransactionResource(Object key) {
		this.key = key;
	}

	protected static <R extends TransactionResource> R current(Object key, Class<R> type, Supplier<R> creation) {
		Object known = TransactionSynchronizationManager.getResource(key);
		if (known != null) {
			return type.cast(known);
		}
		R created = creation.get();
		created.resume();
		TransactionSynchronizationManager.registerSynchronization(created);
		return created;
	}

	@Override
	public void suspend() {
		TransactionSynchronizationManager.unbindResource(this.key);
	}

	@Override
	public void resume() {
		TransactionSynchronizationManager.bindResource(this.key, this);
	}

	protected final void unbind() {
		TransactionSynchronizationManager.unbindResourceIfPossible(this.key);
	}

}
