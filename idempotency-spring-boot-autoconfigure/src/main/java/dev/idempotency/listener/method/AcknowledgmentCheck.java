/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.OperationNotAcknowledgedException;

/**
 * Fails a method in transactional mode that returns without acknowledging its records.
 * Its effects and the idempotency record are committed when it returns, so a redelivery
 * after a restart would be skipped without an acknowledgment. Warns once per listener.
 */
final class AcknowledgmentCheck {

	private static final Log logger = LogFactory.getLog(AcknowledgmentCheck.class);

	private final String listener;

	private final AtomicBoolean warned = new AtomicBoolean();

	AcknowledgmentCheck(String listener) {
		this.listener = listener;
	}

	OperationNotAcknowledgedException failure(Object subject) {
		String problem = "returned without acknowledging a record, so its transaction was rolled back and the record "
				+ "is redelivered: " + subject + ". Acknowledge or nack the record in the method, or use leased mode";
		if (this.warned.compareAndSet(false, true)) {
			logger.warn("The idempotent listener " + this.listener + " " + problem);
		}
		return new OperationNotAcknowledgedException("The listener " + problem);
	}

}
