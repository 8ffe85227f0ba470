/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.util.List;
import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyResultUnreadableException;
import dev.idempotency.Idempotent;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.Failure;
import dev.idempotency.template.Futures;

/**
 * The exceptions of a listener method that decline its operation for good:
 * {@link Idempotent#declineFor()}.
 *
 * @param types the exception classes
 */
public record DeclinedFailures(List<Class<? extends Throwable>> types) {

	public static DeclinedFailures of(Class<? extends Throwable>[] types, String where) {
		for (Class<? extends Throwable> type : types) {
			if (type.isAssignableFrom(OperationInProgressException.class)
					|| type.isAssignableFrom(IdempotencyResultUnreadableException.class)
					|| OperationBlockedException.class.isAssignableFrom(type) || Error.class.isAssignableFrom(type)) {
				throw new IdempotencyConfigurationException("The class " + type.getName()
						+ " in 'declineFor' of @Idempotent on " + where
						+ " includes errors that are no decision of the method, such as an unavailable database.",
						"Name the exceptions with which the method declines an operation for good.");
			}
		}
		return new DeclinedFailures(List.of(types));
	}

	public @Nullable OperationDeclinedException declined(@Nullable Throwable error) {
		Throwable thrown = ExceptionCauses.ofHandler(error);
		if (thrown instanceof OperationDeclinedException declined) {
			return declined;
		}
		if (thrown == null || this.types.stream().noneMatch((type) -> type.isInstance(thrown))) {
			return null;
		}
		Failure failure = Failure.of(thrown);
		String reason = (failure.message() != null) ? failure.type() + ": " + failure.message() : failure.type();
		return new OperationDeclinedException(reason, null, thrown);
	}

	public CompletionStage<Object> in(CompletionStage<Object> stage) {
		if (this.types.isEmpty()) {
			return stage;
		}
		return Futures.convert(stage, (result, error) -> {
			if (error != null) {
				OperationDeclinedException declined = declined(error);
				throw (declined != null) ? declined : error;
			}
			return result;
		});
	}

}
