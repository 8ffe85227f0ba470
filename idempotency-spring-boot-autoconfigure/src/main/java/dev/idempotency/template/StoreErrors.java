/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.io.IOException;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientConnectionException;
import java.util.List;
import java.util.concurrent.TimeoutException;

import org.jspecify.annotations.Nullable;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.NonTransientDataAccessResourceException;
import org.springframework.dao.RecoverableDataAccessException;
import org.springframework.dao.TransientDataAccessException;
import org.springframework.transaction.CannotCreateTransactionException;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Distinguishes an outage from a refusal by the type of an exception and by its SQL
 * state, for stores that throw other exceptions than those of this library.
 */
final class StoreErrors {

	private static final List<Class<? extends Throwable>> OUTAGES = List.of(
			NonTransientDataAccessResourceException.class, TransientDataAccessException.class,
			RecoverableDataAccessException.class, CannotCreateTransactionException.class, IOException.class,
			TimeoutException.class, SQLTransientConnectionException.class, SQLNonTransientConnectionException.class,
			SQLRecoverableException.class, SQLTimeoutException.class);

	// Connection exception, a server that only reads, invalid authorization, insufficient
	// resources, operator intervention, system error.
	private static final List<String> OUTAGE_STATES = List.of("08", "25006", "28", "53", "57P", "58");

	private StoreErrors() {
	}

	static boolean isOutage(Throwable error) {
		return ExceptionCauses.find(error, ConcurrencyFailureException.class::isInstance) == null
				&& ExceptionCauses.find(error, StoreErrors::isKnownOutage) != null;
	}

	private static boolean isKnownOutage(Throwable error) {
		if (OUTAGES.stream().anyMatch((type) -> type.isInstance(error))) {
			return true;
		}
		String state = (error instanceof SQLException sql) ? sql.getSQLState() : null;
		return state != null && OUTAGE_STATES.stream().anyMatch(state::startsWith);
	}

	static @Nullable String code(Throwable error) {
		String known = (error instanceof IdempotencyStoreRefusedException refused) ? refused.code()
				: (error instanceof IdempotencyStoreUnavailableException unavailable) ? unavailable.code() : null;
		if (known != null) {
			return known;
		}
		return (ExceptionCauses.find(error,
				(cause) -> cause instanceof SQLException sql && sql.getSQLState() != null) instanceof SQLException sql)
						? sql.getSQLState() : null;
	}

	// Describe the deepest cause. Messages that may quote data are left out:
	// those of SQL errors about data, and those of errors with another code than
	// an SQL state.
	static String reason(Throwable error) {
		Throwable cause = ExceptionCauses.last(error);
		boolean quotes = (cause instanceof SQLException sql) ? quotes(sql) : code(error) != null;
		return (cause == error || quotes) ? "" : ": " + cause;
	}

	private static boolean quotes(SQLException error) {
		String state = error.getSQLState();
		return state != null && (state.startsWith("22") || state.startsWith("23"));
	}

}
