/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.List;
import java.util.Objects;

import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.template.IdempotentOperation.Handler;

/**
 * The handler of a single operation, as that of a batch of one.
 *
 * @param <E> the type of the exception that the handler throws
 */
final class SingleHandler<E extends Throwable> implements BatchHandler<Object> {

	private final Handler<?, E> handler;

	// Null if the exception of a decline is not converted.
	private final @Nullable ResultCodec<?> codec;

	private @Nullable Throwable failure;

	SingleHandler(Handler<?, E> handler, @Nullable ResultCodec<?> codec) {
		this.codec = codec;
		this.handler = handler;
	}

	@Override
	public @Nullable List<@Nullable Object> handle(List<Integer> due) throws E {
		try {
			Object result = this.handler.handle();
			return (result != null) ? List.of(result) : null;
		}
		catch (OperationDeclinedException ex) {
			if (this.codec == null) {
				throw ex;
			}
			return List.of(Declined.of(ex, this.codec));
		}
	}

	// Called with what the handler, or the commit of its transaction, has thrown.
	@Override
	public int failedAt(Throwable error) {
		this.failure = error;
		return 0;
	}

	// The result of the operation, or its exception as it was thrown: the plan
	// has the reason why the handler is blocked instead of its exception.
	@SuppressWarnings("unchecked")
	<T> IdempotentResult<T> resultOf(BatchPlan ended) throws E {
		IdempotentResult<Object> result = ended.first().result();
		if (result != null) {
			return Declined.resultOf(result);
		}
		OperationBlockedException blocked = ended.first().blockedBy();
		if (this.failure != null && OperationBlockedException.in(this.failure) == blocked) {
			throw (E) this.failure;
		}
		if (blocked != null) {
			throw blocked;
		}
		throw (E) Objects.requireNonNull(ended.failure());
	}

}
