/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

import dev.idempotency.template.OperationObserver.HandledOperation;

/**
 * Opens a context around operations, such as the diagnostic context of the log or an
 * observation. It is called on the thread of each delivery and should return quickly. Its
 * exceptions are logged and dropped.
 *
 * @since 0.1.0
 */
public interface OperationContext {

	/**
	 * Open the context of an operation whose handling begins on this thread.
	 * @param operation the operation
	 * @return the open context, {@code null} if there is nothing to close
	 */
	@Nullable OpenContext begin(IdempotentOperation operation);

	/**
	 * Open the context of a batch whose handling begins on this thread.
	 * @param scope the scope of its keys
	 * @return the open context, {@code null} if there is nothing to close
	 */
	default @Nullable OpenContext beginBatch(String scope) {
		return null;
	}

	/**
	 * The open context of one delivery.
	 */
	interface OpenContext {

		/**
		 * Close the context when the thread leaves the delivery. An asynchronous
		 * operation, or an operation in a Kafka transaction, may end later.
		 */
		void close();

		/**
		 * Called when the operation has ended, on any thread, and before the future of an
		 * asynchronous operation completes. Not called for batches.
		 * @param execution the execution
		 */
		default void ended(HandledOperation execution) {
		}

	}

}
