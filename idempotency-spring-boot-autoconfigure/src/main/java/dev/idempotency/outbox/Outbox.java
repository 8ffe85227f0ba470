/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.List;

import org.jspecify.annotations.Nullable;
import org.springframework.dao.InvalidDataAccessResourceUsageException;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Internal;
import dev.idempotency.OperationInProgressException;

/**
 * Sends messages as part of the caller's database transaction. The messages are rows of
 * that database, and a relay publishes them after the commit.
 * <p>
 * Guarantees:
 * <ul>
 * <li>A message of a committed transaction is published at least once, unless the broker
 * refuses it so often that it becomes a dead letter, which an operator retries or
 * discards.</li>
 * <li>A message of a transaction that was rolled back is never published.</li>
 * <li>Each publication of a message has the same {@code Idempotency-Key}, so that an
 * idempotent consumer applies the message once.</li>
 * <li>Messages with the same topic and key are published in the order in which they were
 * sent. This includes messages of different transactions if the later transaction waited
 * for the earlier one before it sent, for example on the lock of an account row that both
 * change.</li>
 * </ul>
 * Not guaranteed: the order of messages with different keys or without a key, the order
 * of transactions that did not wait for each other, and the place of a dead letter that
 * later messages have passed.
 * <p>
 * Call it on the thread of the transaction. In a protected listener, an
 * {@link IdempotencyStoreUnavailableException} and an
 * {@link OperationInProgressException} block the record, as those of the store do.
 *
 * @since 0.1.0
 */
public interface Outbox {

	/**
	 * Send messages, in one round trip to the database.
	 * @param messages the messages, in their order
	 * @throws IllegalStateException without a transaction of the outbox's database
	 * @throws IllegalArgumentException if a message cannot be serialized
	 * @throws IdempotencyStoreUnavailableException if the database, or a schema registry
	 * that the serializer needs, is unavailable
	 * @throws OperationInProgressException if the database cancels the statement because
	 * of a concurrent transaction: a lock timeout, a deadlock or a serialization failure
	 * @throws InvalidDataAccessResourceUsageException if the database refuses the rows
	 */
	void send(List<OutboxMessage> messages);

	/**
	 * Send a message.
	 * @param message the message
	 * @throws IllegalStateException without a transaction of the outbox's database
	 * @throws IllegalArgumentException if the message cannot be serialized
	 * @throws IdempotencyStoreUnavailableException if the database, or a schema registry
	 * that the serializer needs, is unavailable
	 * @throws OperationInProgressException if the database cancels the statement because
	 * of a concurrent transaction: a lock timeout, a deadlock or a serialization failure
	 * @throws InvalidDataAccessResourceUsageException if the database refuses the row
	 */
	default void send(OutboxMessage message) {
		send(List.of(message));
	}

	/**
	 * Send a message.
	 * @param topic the topic
	 * @param key the message key, of a type that the application's {@code KafkaTemplate}
	 * accepts
	 * @param payload the payload, of a type that the application's {@code KafkaTemplate}
	 * accepts
	 * @throws IllegalStateException without a transaction of the outbox's database
	 * @throws IllegalArgumentException if the message cannot be serialized
	 * @throws IdempotencyStoreUnavailableException if the database, or a schema registry
	 * that the serializer needs, is unavailable
	 * @throws OperationInProgressException if the database cancels the statement because
	 * of a concurrent transaction: a lock timeout, a deadlock or a serialization failure
	 * @throws InvalidDataAccessResourceUsageException if the database refuses the row
	 */
	default void send(String topic, @Nullable Object key, @Nullable Object payload) {
		send(OutboxMessage.to(topic).key(key).payload(payload).build());
	}

	/**
	 * Create an outbox that stores its messages in an {@link OutboxStore}.
	 * @param store the store of the messages
	 * @param serializer serializes the messages
	 * @param contexts describe the sender of a message in headers
	 * @param wakeUp wakes the relay after the commit of a transaction with messages
	 * @return the outbox
	 */
	@Internal
	static Outbox of(OutboxStore store, OutboxSerializer serializer, List<OutboxContext> contexts, Runnable wakeUp) {
		return new TransactionalOutbox(store, serializer, List.copyOf(contexts), wakeUp);
	}

}
