/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

/**
 * Thrown by a handler that declines its operation for good, for example because an
 * account is closed. The decline is the outcome of the operation: it is stored, and every
 * duplicate gets the same decline, without running the handler.
 * <p>
 * The record is acknowledged like a processed one. Neither the error handler of the
 * container nor a {@code KafkaListenerErrorHandler} is called, so that the decline uses
 * up no retry and reaches no dead-letter topic. If the listener replies, it replies with
 * the body.
 * <p>
 * In transactional mode the writes of the handler are rolled back, and the decline is
 * committed after that. In a transaction of the caller, the decline is a part of that
 * transaction, and so are the writes of the handler, unless the caller rolls it back. In
 * leased mode effects elsewhere stay. An operation without a key is declined, too, but
 * nothing is stored, so that a duplicate runs the handler again.
 * <p>
 * The handler has to throw this exception itself, not as the cause of another one. The
 * exceptions that wrap the failure of a {@code CompletionStage} make no difference. In a
 * batch it is the cause of a {@code BatchListenerFailedException}, which names the
 * record.
 *
 * @since 0.1.0
 */
public final class OperationDeclinedException extends RuntimeException {

	/**
	 * The maximum length of a stored reason. A longer one is cut off.
	 */
	public static final int MAX_REASON_LENGTH = 500;

	private final String reason;

	private final transient @Nullable Object body;

	private final boolean duplicate;

	/**
	 * Create an exception without a body.
	 * @param reason the reason. It is stored, and shown by the endpoint if that may show
	 * values
	 */
	public OperationDeclinedException(String reason) {
		this(reason, null);
	}

	/**
	 * Create an exception with a body.
	 * @param reason the reason. It is stored, and shown by the endpoint if that may show
	 * values
	 * @param body the reply, which must be of the result type that the handler declares
	 */
	public OperationDeclinedException(String reason, @Nullable Object body) {
		this(reason, body, null);
	}

	/**
	 * Create an exception with a body and a cause.
	 * @param reason the reason. It is stored, and shown by the endpoint if that may show
	 * values
	 * @param body the reply, which must be of the result type that the handler declares
	 * @param cause the cause, which is not stored
	 */
	public OperationDeclinedException(String reason, @Nullable Object body, @Nullable Throwable cause) {
		this(reason, body, cause, false);
	}

	private OperationDeclinedException(String reason, @Nullable Object body, @Nullable Throwable cause,
			boolean duplicate) {
		super(reason, cause);
		Assert.hasText(reason, "'reason' must not be empty");
		this.reason = reason;
		this.body = body;
		this.duplicate = duplicate;
	}

	/**
	 * Create the exception for a duplicate of a declined operation.
	 * @param reason the stored reason
	 * @param body the stored body
	 * @return the exception
	 */
	public static OperationDeclinedException duplicate(String reason, @Nullable Object body) {
		return new OperationDeclinedException(reason, body, null, true);
	}

	/**
	 * Return the reason.
	 * @return the reason
	 */
	public String reason() {
		return this.reason;
	}

	/**
	 * Return the reply.
	 * @return the body, {@code null} if there is none
	 */
	public @Nullable Object body() {
		return this.body;
	}

	/**
	 * Return whether the operation had been declined before, so that the handler did not
	 * run.
	 * @return whether this is the decline of a duplicate
	 */
	public boolean isDuplicate() {
		return this.duplicate;
	}

}
