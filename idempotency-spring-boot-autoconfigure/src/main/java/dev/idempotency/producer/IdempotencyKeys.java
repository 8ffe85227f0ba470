/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.springframework.util.Assert;

import dev.idempotency.IdempotentExecution;
import dev.idempotency.outbox.TimeOrderedUuid;

/**
 * Adds idempotency keys to records.
 *
 * @since 0.1.0
 */
public final class IdempotencyKeys {

	/**
	 * The header that a protected listener reads first by default.
	 */
	public static final String HEADER = "Idempotency-Key";

	private IdempotencyKeys() {
	}

	/**
	 * Generate a key for a message without a business key. It identifies this message,
	 * not the business operation: another call returns another key.
	 * @return a time-ordered UUID
	 * @see TimeOrderedUuid
	 */
	public static String newKey() {
		return TimeOrderedUuid.next().toString();
	}

	/**
	 * Add a key in the header {@value #HEADER} to a record that has none.
	 * @param record the record
	 * @param <K> the type of its key
	 * @param <V> the type of its value
	 * @return the same record
	 * @throws IllegalStateException if the record has no key and has been sent already
	 * @see #stamp(ProducerRecord, String)
	 */
	public static <K, V> ProducerRecord<K, V> stamp(ProducerRecord<K, V> record) {
		return stamp(record, HEADER);
	}

	/**
	 * Add a key to a record that has none. On the thread of a protected handler it is the
	 * {@link IdempotentExecution#nextKey() next key} of the execution. Elsewhere, and in
	 * the handler of a batch, it is a {@link #newKey() new key}.
	 * <p>
	 * A message keeps its key if the same record is sent again. Serializers may refuse
	 * the closed headers of a record that has been sent; send a copy with its headers
	 * then.
	 * @param record the record
	 * @param header the name of the header for the key
	 * @param <K> the type of the record's key
	 * @param <V> the type of the record's value
	 * @return the same record
	 * @throws IllegalStateException if the record has no key and has been sent already
	 */
	public static <K, V> ProducerRecord<K, V> stamp(ProducerRecord<K, V> record, String header) {
		Assert.notNull(record, "'record' must not be null");
		Assert.hasText(header, "'header' must not be blank");
		if (!has(record.headers(), header)) {
			add(record, header);
		}
		return record;
	}

	// The consumer does not accept a header without a value as a key.
	static boolean has(Headers headers, String name) {
		Header last = headers.lastHeader(name);
		return last != null && last.value() != null;
	}

	private static void add(ProducerRecord<?, ?> record, String header) {
		try {
			record.headers().remove(header);
		}
		catch (IllegalStateException ex) {
			throw new IllegalStateException("A record for the topic '" + record.topic() + "' has no header '" + header
					+ "' and cannot be stamped because it has been sent already. Stamp a record before it is sent "
					+ "for the first time.", ex);
		}
		IdempotentExecution execution = IdempotentExecution.ifCurrent();
		String key = (execution != null) ? execution.nextKey() : newKey();
		record.headers().add(header, key.getBytes(StandardCharsets.UTF_8));
	}

}
