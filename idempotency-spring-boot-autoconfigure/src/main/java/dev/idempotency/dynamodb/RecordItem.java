/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.dynamodb;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.function.Function;

import org.jspecify.annotations.Nullable;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyRecord.State;

/**
 * The item of a key. Attributes:
 * <ul>
 * <li>{@code id}: the partition key, 32 hexadecimal digits</li>
 * <li>{@code state}: P (in progress), C (completed) or F (failed)</li>
 * <li>{@code token}: the owner token of the last claim</li>
 * <li>{@code beat}: a random number that changes with each claim and renewal</li>
 * <li>{@code lease}: the lease of the last claim or renewal</li>
 * <li>{@code fence}, {@code attempt}, and {@code next}, the attempt of the next
 * claim</li>
 * <li>{@code fingerprint}, {@code result}, {@code failure} and {@code message}, if there
 * are any</li>
 * <li>{@code decided}: the version that completed last, if there is one</li>
 * <li>{@code scope} and {@code key}</li>
 * <li>{@code createdAt}, {@code claimedUntil}, {@code completedAt} and {@code expiresAt}:
 * times of the clients, in milliseconds</li>
 * <li>{@code ttl}: the time, in seconds, after which DynamoDB may delete the item;
 * {@code retainedUntil}: that time without renewals</li>
 * </ul>
 *
 * @param attributes the attributes
 */
record RecordItem(Map<String, AttributeValue> attributes) {

	static final String ID = "id";

	static final String TTL = "ttl";

	static final String IN_PROGRESS = "P";

	static final String COMPLETED = "C";

	static final String FAILED = "F";

	private static final Map<String, State> STATES = Map.of(IN_PROGRESS, State.IN_PROGRESS, COMPLETED, State.COMPLETED,
			FAILED, State.FAILED);

	// The result may be large, and nothing that lists records needs it.
	static final String LISTED = "#id, #state, #token, #beat, #lease, #fence, #attempt, #failure, #message, #scope, "
			+ "#key, #createdAt, #claimedUntil, #completedAt, #expiresAt, #decided";

	static Map<String, AttributeValue> key(IdempotencyKey key) {
		return Map.of(ID, AttributeValue.fromS(id(key)));
	}

	static String id(IdempotencyKey key) {
		return key.id().toString().replace("-", "");
	}

	String id() {
		return text(ID);
	}

	State state() {
		State state = STATES.get(text("state"));
		if (state == null) {
			throw unreadable(null);
		}
		return state;
	}

	boolean isInProgress() {
		return state() == State.IN_PROGRESS;
	}

	boolean isCompleted() {
		return state() == State.COMPLETED;
	}

	boolean isFailed() {
		return state() == State.FAILED;
	}

	boolean isOwnedBy(ClaimRequest request) {
		return token().equals(request.token().toString());
	}

	String token() {
		return text("token");
	}

	long beat() {
		return integer("beat");
	}

	Duration lease() {
		return Duration.ofMillis(integer("lease"));
	}

	int fence() {
		return (int) integer("fence");
	}

	int attempt() {
		return (int) integer("attempt");
	}

	int next() {
		return (int) integer("next");
	}

	byte @Nullable [] fingerprint() {
		return binary("fingerprint");
	}

	byte @Nullable [] result() {
		return binary("result");
	}

	@Nullable Failure failure() {
		AttributeValue type = this.attributes.get("failure");
		AttributeValue message = this.attributes.get("message");
		return (type != null) ? new Failure(type.s(), (message != null) ? message.s() : null) : null;
	}

	@Nullable Long version() {
		return this.attributes.containsKey("decided") ? integer("decided") : null;
	}

	Instant expiresAt() {
		return instant("expiresAt");
	}

	IdempotencyRecord toRecord() {
		try {
			return toRecord(IdempotencyKey.of(text("scope"), text("key")));
		}
		catch (IllegalArgumentException ex) {
			throw unreadable(ex);
		}
	}

	IdempotencyRecord toRecord(IdempotencyKey key) {
		State state = state();
		return new IdempotencyRecord(key, state, fence(), attempt(),
				(state == State.IN_PROGRESS) ? instant("claimedUntil") : null, instant("createdAt"),
				(state == State.COMPLETED) ? instant("completedAt") : null, expiresAt(), failure(), version());
	}

	private String text(String name) {
		return attribute(name, AttributeValue::s);
	}

	private long integer(String name) {
		try {
			return Long.parseLong(attribute(name, AttributeValue::n));
		}
		catch (NumberFormatException ex) {
			throw unreadable(null);
		}
	}

	private String attribute(String name, Function<AttributeValue, @Nullable String> type) {
		AttributeValue value = this.attributes.get(name);
		String content = (value != null) ? type.apply(value) : null;
		if (content == null) {
			throw unreadable(null);
		}
		return content;
	}

	private Instant instant(String name) {
		return Instant.ofEpochMilli(integer(name));
	}

	private byte @Nullable [] binary(String name) {
		AttributeValue value = this.attributes.get(name);
		return (value != null && value.b() != null) ? value.b().asByteArray() : null;
	}

	private IdempotencyRecordUnreadableException unreadable(@Nullable RuntimeException cause) {
		AttributeValue id = this.attributes.get(ID);
		return new IdempotencyRecordUnreadableException("The item with the id '" + ((id != null) ? id.s() : "")
				+ "' is not an idempotency record of this version. Check the item, and delete it if no other "
				+ "application uses it", cause);
	}

}
