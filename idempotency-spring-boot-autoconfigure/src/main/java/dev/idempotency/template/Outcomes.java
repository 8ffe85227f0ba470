/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.Map;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.IdempotencyVersionStaleException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationLostException;
import dev.idempotency.OperationNotAcknowledgedException;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * The outcomes of operations that have ended with an exception.
 */
final class Outcomes {

	private static final Map<Class<?>, Outcome> OUTCOMES = Map.of(OperationInProgressException.class,
			Outcome.IN_PROGRESS, OperationLostException.class, Outcome.LOST, IdempotencyVersionStaleException.class,
			Outcome.STALE, IdempotencyRecordUnreadableException.class, Outcome.UNREADABLE,
			IdempotencyStoreUnavailableException.class, Outcome.UNAVAILABLE, IdempotencyStoreRefusedException.class,
			Outcome.REFUSED, OperationNotAcknowledgedException.class, Outcome.BLOCKED, NackedException.class,
			Outcome.BLOCKED);

	private Outcomes() {
	}

	static Outcome of(Throwable error) {
		return OUTCOMES.getOrDefault(error.getClass(),
				(error instanceof OperationRejectedException) ? Outcome.REJECTED : Outcome.FAILED);
	}

	static Outcome ofHandler(@Nullable Throwable error) {
		return isFailure(error) ? Outcome.FAILED : Outcome.BLOCKED;
	}

	// A handler that is blocked, or that requests a redelivery, has not failed.
	static boolean isFailure(@Nullable Throwable error) {
		return !(error instanceof NackedException) && OperationBlockedException.in(error) == null;
	}

}
