/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotentExecution;

/**
 * A message to send with an {@link Outbox}.
 *
 * @since 0.1.0
 */
public final class OutboxMessage {

	private static final int MAX_TOPIC = 249;

	private static final int MAX_NAME = 255;

	// Control characters, and those that change lines or the direction of text.
	private static final Pattern UNPRINTABLE = Pattern.compile("[\\p{C}\\p{Zl}\\p{Zp}]");

	private final String topic;

	private final @Nullable Object key;

	private final @Nullable Object payload;

	private final List<Header> headers;

	private final String aggregateType;

	private final @Nullable String aggregateId;

	private final String type;

	private final @Nullable String idempotencyKey;

	private final @Nullable IdempotentExecution cause;

	private OutboxMessage(Builder builder) {
		this.topic = builder.topic;
		this.key = builder.key;
		this.payload = builder.payload;
		this.headers = List.copyOf(builder.headers);
		this.aggregateType = (builder.aggregateType != null) ? builder.aggregateType : builder.topic;
		this.aggregateId = builder.aggregateId;
		this.type = (builder.type != null) ? builder.type : type(builder.payload);
		this.idempotencyKey = builder.idempotencyKey;
		this.cause = builder.cause;
	}

	private static String type(@Nullable Object payload) {
		return (payload != null) ? payload.getClass().getSimpleName() : "Tombstone";
	}

	/**
	 * Create a builder.
	 * @param topic topic of the message; 249 characters at most
	 * @return a builder
	 */
	public static Builder to(String topic) {
		return new Builder(topic);
	}

	public String topic() {
		return this.topic;
	}

	public @Nullable Object key() {
		return this.key;
	}

	public @Nullable Object payload() {
		return this.payload;
	}

	public List<Header> headers() {
		return this.headers;
	}

	/**
	 * Whether the sender has set a header.
	 * @param name name of the header
	 * @return whether the header is set, with or without a value
	 */
	public boolean hasHeader(String name) {
		return this.headers.stream().anyMatch((header) -> header.name().equals(name));
	}

	public String aggregateType() {
		return this.aggregateType;
	}

	public @Nullable String aggregateId() {
		return this.aggregateId;
	}

	public String type() {
		return this.type;
	}

	/**
	 * The idempotency key that the sender has set.
	 * @return the key, {@code null} if the outbox assigns one
	 */
	public @Nullable String idempotencyKey() {
		return this.idempotencyKey;
	}

	/**
	 * The execution that the sender has set.
	 * @return the execution, {@code null} to use the current one, if there is one
	 */
	public @Nullable IdempotentExecution cause() {
		return this.cause;
	}

	// The payload may be confidential. A line break in the key would forge a line of the
	// log.
	@Override
	public String toString() {
		return "message to " + this.topic
				+ ((this.key != null) ? " with key " + UNPRINTABLE.matcher(this.key.toString()).replaceAll("?") : "");
	}

	/**
	 * Builder for {@link OutboxMessage}.
	 */
	public static final class Builder {

		private final String topic;

		private final List<Header> headers = new ArrayList<>();

		private @Nullable Object key;

		private @Nullable Object payload;

		private @Nullable String aggregateType;

		private @Nullable String aggregateId;

		private @Nullable String type;

		private @Nullable String idempotencyKey;

		private @Nullable IdempotentExecution cause;

		private Builder(String topic) {
			this.topic = checked("topic", topic, MAX_TOPIC);
		}

		/**
		 * Set the message key. Messages with the same topic and key are published in
		 * order.
		 * @param value the key, of a type that the application's {@code KafkaTemplate}
		 * accepts
		 * @return this
		 */
		public Builder key(@Nullable Object value) {
			this.key = value;
			return this;
		}

		/**
		 * Set the payload.
		 * @param value the payload, of a type that the application's
		 * {@code KafkaTemplate} accepts; {@code null} for a tombstone
		 * @return this
		 */
		public Builder payload(@Nullable Object value) {
			this.payload = value;
			return this;
		}

		/**
		 * Add a header.
		 * @param name name of the header
		 * @param value value of the header
		 * @return this
		 * @throws IllegalArgumentException if the relay sets the header itself:
		 * {@value OutboxRow#KEY_HEADER} and {@value OutboxRow#ID_HEADER}
		 */
		public Builder header(String name, byte @Nullable [] value) {
			Assert.isTrue(!name.equals(OutboxRow.KEY_HEADER), () -> "The message to '" + this.topic
					+ "' must not set the header '" + name + "'. Set the key with idempotencyKey(…)");
			Assert.isTrue(!name.equals(OutboxRow.ID_HEADER),
					() -> "The message to '" + this.topic + "' must not set the header '" + name
							+ "', in which the relay sends the id of the row, as Debezium does. Use another name");
			this.headers.add(new Header(name, value));
			return this;
		}

		/**
		 * Add a header with a text, encoded as UTF-8.
		 * @param name name of the header
		 * @param value the text
		 * @return this
		 */
		public Builder header(String name, String value) {
			return header(name, value.getBytes(StandardCharsets.UTF_8));
		}

		/**
		 * Set the aggregate that the message is about. Default: the topic and the message
		 * key.
		 * @param aggregate type of the aggregate, such as "payment"; 255 characters at
		 * most
		 * @param id id of the aggregate; 255 characters at most
		 * @return this
		 */
		public Builder aggregate(String aggregate, String id) {
			this.aggregateType = checked("aggregate type", aggregate, MAX_NAME);
			this.aggregateId = checked("aggregate id", id, MAX_NAME);
			return this;
		}

		/**
		 * Set the type of the event. Default: the simple class name of the payload. A
		 * derived idempotency key depends on the type.
		 * @param name the type, such as "payment-charged"; 255 characters at most
		 * @return this
		 */
		public Builder type(String name) {
			this.type = checked("type", name, MAX_NAME);
			return this;
		}

		/**
		 * Set the idempotency key for the consumers of the message. Default:
		 * {@link IdempotentExecution#nextTransactionalKey} of the cause, else a new UUID.
		 * @param value the key
		 * @return this
		 */
		public Builder idempotencyKey(String value) {
			String problem = IdempotencyKey.problem(value);
			Assert.isTrue(problem == null, () -> "The idempotency key of the message to " + this.topic + " " + problem);
			this.idempotencyKey = value;
			return this;
		}

		/**
		 * Set the execution that sends the message, from which its key is derived.
		 * Default: the current execution. The handler of a batch has none and must set
		 * it.
		 * @param execution the execution, such as one of
		 * {@link IdempotentExecution#currentBatch()}; {@code null} for the default
		 * @return this
		 */
		public Builder cause(@Nullable IdempotentExecution execution) {
			this.cause = execution;
			return this;
		}

		public OutboxMessage build() {
			return new OutboxMessage(this);
		}

		private static String checked(String name, String text, int length) {
			String problem = IdempotencyKey.problem(text);
			Assert.isTrue(problem == null, () -> "The " + name + " of a message " + problem);
			Assert.isTrue(text.length() <= length, () -> "The " + name + " of a message has " + text.length()
					+ " characters; use " + length + " at most");
			return text;
		}

	}

	/**
	 * A header of a message.
	 *
	 * @param name name of the header
	 * @param value value of the header
	 */
	public record Header(String name, byte @Nullable [] value) {

		/**
		 * Create a header with a text, encoded as UTF-8.
		 * @param name name of the header
		 * @param text the text
		 */
		public Header(String name, String text) {
			this(name, text.getBytes(StandardCharsets.UTF_8));
		}

		@Override
		public boolean equals(@Nullable Object other) {
			return other instanceof Header header && this.name.equals(header.name)
					&& Arrays.equals(this.value, header.value);
		}

		@Override
		public int hashCode() {
			return 31 * this.name.hashCode() + Arrays.hashCode(this.value);
		}

		// The value may be confidential.
		@Override
		public String toString() {
			return this.name;
		}

	}

}
