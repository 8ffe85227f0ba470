/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.stream;

import java.util.concurrent.atomic.AtomicReference;

import org.jspecify.annotations.Nullable;
import org.springframework.core.retry.RetryException;
import org.springframework.core.retry.RetryTemplate;
import org.springframework.core.retry.Retryable;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.function.FunctionProtection;

/**
 * Decorates the retry template of a binding. A blocked record is not retried and not
 * recovered: its exception leaves the template, so that the container redelivers the
 * record. A rejected record is recovered without a retry.
 */
final class BlockedAwareRetryTemplate extends RetryTemplate {

	private final RetryTemplate delegate;

	BlockedAwareRetryTemplate(RetryTemplate delegate) {
		super(delegate.getRetryPolicy());
		setRetryListener(delegate.getRetryListener());
		this.delegate = delegate;
	}

	// A result may be null, and is null after a blocked attempt.
	@SuppressWarnings("NullAway")
	@Override
	public <R extends @Nullable Object> R execute(Retryable<R> retryable) throws RetryException {
		AtomicReference<Throwable> failure = new AtomicReference<>();
		// The delegate takes an attempt that must not be repeated for a success.
		R result = this.delegate.execute(() -> {
			try {
				return retryable.execute();
			}
			catch (Throwable ex) {
				if (!FunctionProtection.isBlocked()
						&& ExceptionCauses.find(OperationRejectedException.class, ex) == null) {
					throw ex;
				}
				failure.set(ex);
				return null;
			}
		});
		Throwable last = failure.get();
		if (last == null) {
			return result;
		}
		if (!FunctionProtection.isBlocked()) {
			throw new RetryException("The record is rejected, and a retry would not change that", last);
		}
		if (last instanceof Error error) {
			throw error;
		}
		throw (last instanceof RuntimeException exception) ? exception
				: new IllegalStateException("The record is blocked", last);
	}

}
