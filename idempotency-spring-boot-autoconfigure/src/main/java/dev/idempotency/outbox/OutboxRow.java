/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Fingerprint;

/**
 * A stored message.
 *
 * @param id id of the message
 * @param topic topic of the message
 * @param key serialized message key
 * @param payload serialized payload
 * @param headers headers, without those that the relay adds
 * @param idempotencyKey idempotency key of the message
 * @param aggregateType type of the aggregate that the message is about
 * @param aggregateId id of this aggregate
 * @param type type of the event
 * @since 0.1.0
 */
public record OutboxRow(UUID id, String topic, byte @Nullable [] key, byte @Nullable [] payload,
		List<OutboxMessage.Header> headers, String idempotencyKey, String aggregateType, String aggregateId,
		String type) {

	/**
	 * The header with the id of the message. Debezium's outbox event router uses the same
	 * name.
	 */
	public static final String ID_HEADER = "id";

	/**
	 * The header with the idempotency key.
	 */
	public static final String KEY_HEADER = "Idempotency-Key";

	/**
	 * The header with the fingerprint of the content. A protected listener compares it
	 * unless the listener declares a fingerprint of its own.
	 */
	public static final String FINGERPRINT_HEADER = "Idempotency-Fingerprint";

	/**
	 * The header with the time at which the message was sent, by the clock of the sender,
	 * in ISO 8601 format in UTC, with milliseconds at most.
	 */
	public static final String TIME_HEADER = "Event-Time";

	private static final int FINGERPRINT_BYTES = 16;

	private static final byte[] NONE = {};

	OutboxMessage.Header fingerprint() {
		return new OutboxMessage.Header(FINGERPRINT_HEADER, Fingerprint.text(content(), FINGERPRINT_BYTES));
	}

	OutboxRow withHeaders(List<OutboxMessage.Header> added) {
		List<OutboxMessage.Header> extended = Stream.concat(this.headers.stream(), added.stream()).toList();
		return new OutboxRow(this.id, this.topic, this.key, this.payload, extended, this.idempotencyKey,
				this.aggregateType, this.aggregateId, this.type);
	}

	// The lengths separate the parts, and distinguish null from empty.
	private byte[] content() {
		byte[] name = this.type.getBytes(StandardCharsets.UTF_8);
		byte[] keyBytes = Objects.requireNonNullElse(this.key, NONE);
		byte[] payloadBytes = Objects.requireNonNullElse(this.payload, NONE);
		return ByteBuffer.allocate(2 * Integer.BYTES + 1 + name.length + keyBytes.length + payloadBytes.length)
			.putInt(name.length)
			.put(name)
			.putInt((this.key != null) ? keyBytes.length : -1)
			.put(keyBytes)
			.put((byte) ((this.payload != null) ? 1 : 0))
			.put(payloadBytes)
			.array();
	}

	/**
	 * The lane of the message. All messages with the same topic and key are in the same
	 * lane. A message without a key may be in any lane.
	 * @param lanes the number of lanes
	 * @return the lane, from 0
	 */
	public int lane(int lanes) {
		int hash = (this.key != null) ? 31 * this.topic.hashCode() + Arrays.hashCode(this.key) : this.id.hashCode();
		// The lowest bits of the hash depend only on the last bytes of the key.
		return Math.floorMod(hash ^ (hash >>> 16), lanes);
	}

	Object orderingKey() {
		return (this.key != null) ? List.of(this.topic, ByteBuffer.wrap(this.key)) : this.id;
	}

	@Override
	public String toString() {
		return "message " + this.id + " to " + this.topic;
	}

}
