/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

import org.springframework.stereotype.Component;

import dev.idempotency.outbox.OutboxObserver;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.outbox.OutboxStore.Status;

/**
 * Reads the status of the outbox and counts published messages.
 */
@Component
class OutboxFigures implements OutboxObserver {

	private final OutboxStore store;

	private final LongAdder published = new LongAdder();

	OutboxFigures(OutboxStore store) {
		this.store = store;
	}

	@Override
	public void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
		if (outcome == PublishOutcome.PUBLISHED) {
			this.published.increment();
		}
	}

	long pending() {
		return this.store.status().pending();
	}

	Summary.Outbox read() {
		Status status = this.store.status();
		return new Summary.Outbox(status.pending(), status.deadLetters(), this.published.sum());
	}

}
