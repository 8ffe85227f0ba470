/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.UUID;
import java.util.function.IntSupplier;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.template.Observers;
import dev.idempotency.template.OperationObserver.Intervention;

/**
 * Retries and discards dead letters for an operator. Each intervention is logged and
 * reported to the observers.
 *
 * @since 0.1.0
 */
public final class OutboxAdmin {

	private static final Log logger = LogFactory.getLog(OutboxAdmin.class);

	private final OutboxStore store;

	private final Runnable wakeUp;

	private final Observers observers;

	/**
	 * Create an instance.
	 * @param store the outbox
	 * @param wakeUp wakes the relays after a change
	 * @param observers the observers to notify
	 */
	public OutboxAdmin(OutboxStore store, Runnable wakeUp, Observers observers) {
		this.store = store;
		this.wakeUp = wakeUp;
		this.observers = observers;
	}

	/**
	 * The outbox.
	 * @return the outbox
	 */
	public OutboxStore store() {
		return this.store;
	}

	/**
	 * Retry a dead letter, see {@link OutboxStore#retry(UUID)}.
	 * @param id the id of the message
	 * @param user name of the operator, {@code null} if unknown
	 * @return whether a dead letter has this id
	 */
	public boolean retry(UUID id, @Nullable String user) {
		return change(Intervention.RETRY, "the message " + id, user, () -> this.store.retry(id) ? 1 : 0) > 0;
	}

	/**
	 * Retry the dead letters of a topic, see {@link OutboxStore#retry(String, int)}.
	 * @param topic the topic
	 * @param limit maximum number of messages
	 * @param user name of the operator, {@code null} if unknown
	 * @return the number of messages that were changed
	 */
	public int retry(String topic, int limit, @Nullable String user) {
		return change(Intervention.RETRY, messagesTo(topic), user, () -> this.store.retry(topic, limit));
	}

	/**
	 * Delete a dead letter, see {@link OutboxStore#discard(UUID)}.
	 * @param id the id of the message
	 * @param user name of the operator, {@code null} if unknown
	 * @return whether a dead letter had this id
	 */
	public boolean discard(UUID id, @Nullable String user) {
		return change(Intervention.DISCARD, "the message " + id, user, () -> this.store.discard(id) ? 1 : 0) > 0;
	}

	/**
	 * Delete the dead letters of a topic, see {@link OutboxStore#discard(String, int)}.
	 * @param topic the topic
	 * @param limit maximum number of messages
	 * @param user name of the operator, {@code null} if unknown
	 * @return the number of messages that were deleted
	 */
	public int discard(String topic, int limit, @Nullable String user) {
		return change(Intervention.DISCARD, messagesTo(topic), user, () -> this.store.discard(topic, limit));
	}

	private static String messagesTo(String topic) {
		return "messages to the topic '" + topic.replaceAll("\\p{Cntrl}", "?") + "'";
	}

	private int change(Intervention intervention, String messages, @Nullable String user, IntSupplier action) {
		String description = intervention.describe("of " + messages + " in the outbox '" + this.store.table() + "'",
				user);
		int changed = 0;
		try {
			changed = action.getAsInt();
			if (changed > 0) {
				logger.warn("Intervention: " + description + ((changed > 1) ? ", " + changed + " messages" : ""));
				this.wakeUp.run();
			}
			else {
				logger.info("Not done: " + description + "; no such message is a dead letter");
			}
			return changed;
		}
		catch (RuntimeException ex) {
			logger.warn("The outcome of the " + description + " is unknown. Check the dead letters of the outbox", ex);
			throw ex;
		}
		finally {
			boolean done = changed > 0;
			this.observers.operation((observer) -> observer.intervened(intervention, done, description));
		}
	}

}
