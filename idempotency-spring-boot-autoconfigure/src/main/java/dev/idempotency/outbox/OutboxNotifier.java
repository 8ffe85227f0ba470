/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import dev.idempotency.Internal;

/**
 * Notifies the relays of other instances of new messages, where this instance runs no
 * relay. It sends one notification for many commits, on a thread of its own: a
 * notification inside each transaction would make the database serialize their commits.
 *
 * @since 0.1.0
 */
@Internal
public final class OutboxNotifier extends OutboxLoop {

	private static final Log logger = LogFactory.getLog(OutboxNotifier.class);

	private final OutboxStore store;

	/**
	 * Create a notifier.
	 * @param store the outbox
	 */
	public OutboxNotifier(OutboxStore store) {
		super("idempotency-outbox-notifier", GRACE);
		this.store = store;
	}

	@Override
	protected Duration step() {
		try {
			this.store.notifyRelays();
		}
		catch (RuntimeException ex) {
			// The relays also poll.
			logger.debug("The relays of the outbox '" + this.store.table() + "' could not be notified; they find new "
					+ "messages when they poll", ex);
		}
		return UNTIL_WOKEN;
	}

}
