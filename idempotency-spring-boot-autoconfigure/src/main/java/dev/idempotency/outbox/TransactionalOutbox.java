/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

import dev.idempotency.IdempotentExecution;

/**
 * The {@link Outbox} that stores its messages in an {@link OutboxStore}.
 *
 * @param store stores the messages
 * @param serializer serializes the messages
 * @param contexts add headers to the messages
 * @param wakeUp wakes the relays after a commit
 */
record TransactionalOutbox(OutboxStore store, OutboxSerializer serializer, List<OutboxContext> contexts,
		Runnable wakeUp) implements Outbox {

	private static final Log logger = LogFactory.getLog(TransactionalOutbox.class);

	@Override
	public void send(List<OutboxMessage> messages) {
		if (messages.isEmpty()) {
			return;
		}
		OutboxMessage first = messages.get(0);
		Assert.state(TransactionSynchronizationManager.isActualTransactionActive(),
				() -> "No transaction is active for the " + first + ". Send it from an @Idempotent listener "
						+ "in transactional mode or from a @Transactional method, so that it commits with their writes");
		Assert.state(TransactionSynchronizationManager.isSynchronizationActive(),
				() -> "The transaction of the " + first + " has already ended, so the message would be lost. Send it "
						+ "before the commit, or in a new transaction (REQUIRES_NEW)");
		this.store.insert(messages.stream().map(this::row).toList());
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			// An exception would make the committed transaction look failed.
			@Override
			public void afterCommit() {
				try {
					TransactionalOutbox.this.wakeUp.run();
				}
				catch (RuntimeException ex) {
					logger.warn("The relay could not be woken for the committed " + first
							+ "; the message is published at the next poll of a relay", ex);
				}
			}

		});
	}

	private OutboxRow row(OutboxMessage message) {
		UUID id = TimeOrderedUuid.next();
		List<OutboxMessage.Header> added = senderHeaders(message);
		String key = message.idempotencyKey();
		IdempotentExecution cause = (message.cause() != null) ? message.cause() : IdempotentExecution.ifCurrent();
		if (key != null || cause == null) {
			return this.serializer.serialize(message, id, (key != null) ? key : TimeOrderedUuid.next().toString())
				.withHeaders(added);
		}
		OutboxRow row = this.serializer.serialize(message, id,
				cause.nextTransactionalKey(message.topic(), message.type()));
		// Another attempt of the handler may send other content under the same key.
		if (!message.hasHeader(OutboxRow.FINGERPRINT_HEADER)) {
			added.add(row.fingerprint());
		}
		return row.withHeaders(added);
	}

	private List<OutboxMessage.Header> senderHeaders(OutboxMessage message) {
		List<OutboxMessage.Header> headers = new ArrayList<>();
		if (!message.hasHeader(OutboxRow.TIME_HEADER)) {
			headers.add(new OutboxMessage.Header(OutboxRow.TIME_HEADER,
					Instant.now().truncatedTo(ChronoUnit.MILLIS).toString()));
		}
		this.contexts.forEach((context) -> headers.addAll(context.headers(message)));
		return headers;
	}

}
