/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.time.Duration;

/**
 * Thrown in transactional mode when the listener returned without acknowledging its
 * record. The transaction is rolled back, and the record is redelivered. Otherwise the
 * key would be completed, and the record would be skipped after a restart.
 *
 * @since 0.1.0
 */
public final class OperationNotAcknowledgedException extends OperationBlockedException {

	private static final Duration RETRY_AFTER = Duration.ofSeconds(5);

	public OperationNotAcknowledgedException(String message) {
		super(message, RETRY_AFTER, null);
	}

}
