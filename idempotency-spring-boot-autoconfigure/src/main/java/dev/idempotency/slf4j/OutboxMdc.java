/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.slf4j;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

import org.slf4j.MDC;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.outbox.OutboxContext;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxRow;

/**
 * Adds values of the sender's MDC to messages, each in a header with the name of its key.
 * A header that the message already has is kept.
 *
 * @param keys the MDC keys, none of which is the name of a header that the outbox sets
 * @since 0.1.0
 */
public record OutboxMdc(List<String> keys) implements OutboxContext {

	private static final Set<String> RESERVED = Set.of(OutboxRow.ID_HEADER, OutboxRow.KEY_HEADER,
			OutboxRow.FINGERPRINT_HEADER, OutboxRow.TIME_HEADER);

	public OutboxMdc {
		for (String key : keys) {
			IdempotencyConfigurationException.check(!RESERVED.contains(key),
					"'idempotency.outbox.mdc-keys' contains '" + key
							+ "', which is a header that the outbox sets itself.",
					"Remove it from 'idempotency.outbox.mdc-keys', or use another MDC key.");
		}
		keys = List.copyOf(keys);
	}

	@Override
	public List<OutboxMessage.Header> headers(OutboxMessage message) {
		List<OutboxMessage.Header> headers = new ArrayList<>();
		for (String key : this.keys) {
			String value = MDC.get(key);
			if (value != null && !message.hasHeader(key)) {
				headers.add(new OutboxMessage.Header(key, value));
			}
		}
		return headers;
	}

}
