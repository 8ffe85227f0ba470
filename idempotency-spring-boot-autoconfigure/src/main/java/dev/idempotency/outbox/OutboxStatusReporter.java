/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.Internal;
import dev.idempotency.template.Observers;

/**
 * Reads the status of an outbox every five seconds and reports it to each
 * {@link OutboxObserver}. It is independent of the relay, so that a backlog is visible
 * also when no relay runs.
 *
 * @since 0.1.0
 */
@Internal
public final class OutboxStatusReporter extends OutboxLoop {

	private static final Log logger = LogFactory.getLog(OutboxStatusReporter.class);

	private static final Duration INTERVAL = Duration.ofSeconds(5);

	private final OutboxStore store;

	private final List<OutboxObserver> observers;

	private boolean failing;

	/**
	 * Create a reporter.
	 * @param store the outbox
	 * @param observers the observers to notify
	 */
	public OutboxStatusReporter(OutboxStore store, List<OutboxObserver> observers) {
		super("idempotency-outbox-status", GRACE);
		this.store = store;
		this.observers = List.copyOf(observers);
	}

	@Override
	protected Duration step() {
		try {
			OutboxStore.Status status = this.store.status();
			Observers.notify(this.observers, (observer) -> observer.observed(status));
			this.failing = false;
		}
		catch (RuntimeException ex) {
			String message = "The status of the outbox '" + this.store.table()
					+ "' cannot be read; its gauges keep their last values";
			if (this.failing) {
				logger.debug(message, ex);
			}
			else {
				logger.warn(message, ex);
			}
			this.failing = true;
		}
		return INTERVAL;
	}

}
