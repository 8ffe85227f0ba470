/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.transaction.support.TransactionSynchronizationManager;

import dev.idempotency.TransactionResource;
import dev.idempotency.jdbc.JdbcExecutor.Work;

/**
 * The first record or mark of a transaction. Some databases roll back the whole
 * transaction when a statement fails, and the next statement then begins another one:
 * then it is no longer there, whatever nested operations have written since.
 */
final class FirstWrite extends TransactionResource {

	private @Nullable UUID id;

	private @Nullable Work<Boolean> check;

	private final Set<Object> laterSavepoints = new HashSet<>();

	private FirstWrite(Object key) {
		super(key);
	}

	// A later write under the same id replaces the first one.
	static void remember(Object key, UUID id, Work<Boolean> check) {
		FirstWrite first = current(key, FirstWrite.class, () -> new FirstWrite(key));
		if (first.check == null || id.equals(first.id)) {
			first.id = id;
			first.check = check;
		}
	}

	static boolean isKept(Object key, Connection connection) throws SQLException {
		FirstWrite first = (FirstWrite) TransactionSynchronizationManager.getResource(key);
		return first == null || first.check == null || first.check.on(connection);
	}

	// A later synchronization may begin a transaction after the completion of this one.
	@Override
	public int getOrder() {
		return Ordered.HIGHEST_PRECEDENCE;
	}

	@Override
	public void savepoint(Object savepoint) {
		if (this.check != null) {
			this.laterSavepoints.add(savepoint);
		}
	}

	@Override
	public void savepointRollback(Object savepoint) {
		if (!this.laterSavepoints.contains(savepoint)) {
			this.check = null;
		}
	}

	@Override
	public void afterCompletion(int status) {
		unbind();
	}

}
