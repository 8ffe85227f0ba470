/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.List;

/**
 * Adds headers that describe the sender of a message, such as its trace. The headers are
 * stored with the message, so they describe the sender and not the relay.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface OutboxContext {

	/**
	 * Describe the sender. The call runs on the thread of the sender.
	 * @param message the message
	 * @return the headers to add, none that the message
	 * {@linkplain OutboxMessage#hasHeader has} already
	 */
	List<OutboxMessage.Header> headers(OutboxMessage message);

}
