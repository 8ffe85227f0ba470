/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.UUID;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Internal;

/**
 * Serializes messages. An implementation must write the same bytes as the application's
 * own way of sending.
 *
 * @since 0.1.0
 */
@Internal
@FunctionalInterface
public interface OutboxSerializer {

	/**
	 * Serialize a message.
	 * @param message the message
	 * @param id the id of the message
	 * @param idempotencyKey the idempotency key of the message
	 * @return the row to store
	 * @throws IllegalArgumentException if the message cannot be serialized
	 * @throws IdempotencyStoreUnavailableException if a server that the serializer needs,
	 * such as a schema registry, is unavailable
	 */
	OutboxRow serialize(OutboxMessage message, UUID id, String idempotencyKey);

}
