/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.time.Duration;
import java.time.Instant;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OtherContentPolicy;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Is notified of operations and of the records that ask for them. A callback runs on the
 * thread of the event and should return quickly. Its exceptions are logged and dropped.
 * Events are reported as they are observed, so a process that dies reports nothing. Every
 * bean of this type is notified.
 *
 * @since 0.1.0
 */
public interface OperationObserver {

	/**
	 * Called when the handling of a record has ended.
	 * @param operation the operation
	 */
	default void handled(HandledOperation operation) {
	}

	/**
	 * Called when a record has no usable idempotency key.
	 * @param listener the name of the listener
	 * @param policy the policy that applies
	 */
	default void keyMissing(String listener, MissingKeyPolicy policy) {
	}

	/**
	 * Called when a handler has run and its completion could not be recorded. The
	 * completion is retried.
	 * @param listener the name of the listener
	 * @param key the key
	 */
	default void completionFailed(String listener, IdempotencyKey key) {
	}

	/**
	 * Called when the retry of a completion has settled it.
	 * @param listener the name of the listener
	 * @param key the key
	 * @param settlement {@link Settlement#LOST} if another owner has taken over the key
	 */
	default void completionSettled(String listener, IdempotencyKey key, Settlement settlement) {
	}

	/**
	 * Called when the result of a handler cannot be stored. The operation is completed
	 * without it, and its duplicates are skipped without a result.
	 * @param listener the name of the listener
	 * @param key the key
	 */
	default void resultNotStored(String listener, IdempotencyKey key) {
	}

	/**
	 * Called when an administrator has requested a change by hand.
	 * @param intervention the kind of change
	 * @param done whether at least one record or message was changed
	 * @param description the changed records or messages and the user who has requested
	 * it, as in the log
	 */
	default void intervened(Intervention intervention, boolean done, String description) {
	}

	/**
	 * Called when a record is blocked: it waits, and so does its partition.
	 * @param record the record
	 */
	default void blocked(BlockedRecord record) {
	}

	/**
	 * Called when a record is no longer blocked in this process: it is processed, another
	 * record is delivered in its place, or its partition is assigned to another consumer.
	 * @param record the record
	 */
	default void unblocked(BlockedRecord record) {
	}

	/**
	 * A record that is blocked.
	 *
	 * @param listener the name of the listener, from a bounded set
	 * @param topic the topic
	 * @param partition the partition
	 * @param offset the offset
	 * @param since the time since which it is blocked in this process
	 */
	record BlockedRecord(String listener, String topic, int partition, long offset, Instant since) {

	}

	/**
	 * The handling of one record.
	 *
	 * @param listener the name of the listener, from a bounded set
	 * @param mode the mode of protection
	 * @param key the key, {@code null} if the record has none
	 * @param outcome the outcome
	 * @param duration the duration, including the handler
	 * @param attempt the number of starts of the operation, including this one; 0 if the
	 * handler did not run under a claim, and for a record of a batch
	 * @param origin the source of the operation, such as a record, whose text contains no
	 * payload; {@code null} if there is no key
	 */
	record HandledOperation(String listener, Mode mode, @Nullable IdempotencyKey key, Outcome outcome,
			Duration duration, int attempt, @Nullable Object origin) {

		/**
		 * Create an execution without an attempt and an origin.
		 * @param listener the name of the listener, from a bounded set
		 * @param mode the mode of protection
		 * @param key the key, {@code null} if the record has none
		 * @param outcome the outcome
		 * @param duration the duration, including the handler
		 */
		public HandledOperation(String listener, Mode mode, @Nullable IdempotencyKey key, Outcome outcome,
				Duration duration) {
			this(listener, mode, key, outcome, duration, 0, null);
		}

	}

	/**
	 * The outcome of the handling of a record.
	 */
	enum Outcome {

		/**
		 * The handler ran and its completion is recorded.
		 */
		PROCESSED,

		/**
		 * The operation had completed before, so the handler did not run.
		 */
		DUPLICATE,

		/**
		 * The operation had completed before with other content, so the handler did not
		 * run. The key may not identify the operation, see
		 * {@link OtherContentPolicy#REPORT}.
		 */
		OTHER_CONTENT,

		/**
		 * A higher version of the key had completed, so the handler did not run. The
		 * record is skipped or rejected.
		 */
		STALE,

		/**
		 * Another consumer runs the operation. The record is redelivered.
		 */
		IN_PROGRESS,

		/**
		 * The handler is blocked by an operation that it calls, or requests a redelivery:
		 * its record is negatively acknowledged or not acknowledged. This is neither a
		 * failure nor an attempt. The record is redelivered.
		 */
		BLOCKED,

		/**
		 * The handler failed.
		 */
		FAILED,

		/**
		 * The handler declined the operation for good. Its duplicates count as
		 * {@link #DUPLICATE}.
		 */
		DECLINED,

		/**
		 * The record can never be processed as it is.
		 */
		REJECTED,

		/**
		 * The handler ran without protection.
		 */
		UNPROTECTED,

		/**
		 * The handler ran, but another owner has taken over the key.
		 */
		LOST,

		/**
		 * The store was unavailable. The record is redelivered.
		 */
		UNAVAILABLE,

		/**
		 * The store refused the call for a reason that concerns this record or the
		 * privileges of the application. The record is redelivered.
		 */
		REFUSED,

		/**
		 * The value that the store holds under the key is not a record of this library.
		 * The Kafka record is redelivered.
		 */
		UNREADABLE

	}

	/**
	 * A change that a user requests by hand.
	 */
	enum Intervention {

		/**
		 * A key is released.
		 */
		RELEASE,

		/**
		 * A record, or a selection of records, is deleted.
		 */
		EVICT,

		/**
		 * The mark of a partition is lowered.
		 */
		LOWER,

		/**
		 * Dead letters of the outbox are published again.
		 */
		RETRY,

		/**
		 * Dead letters of the outbox are deleted.
		 */
		DISCARD;

		/**
		 * Describe the change for a log line.
		 * @param object the changed object with a preposition, such as "of the key"
		 * @param requestedBy the user who requests it, {@code null} if unknown
		 * @return a part of a sentence, without line breaks from the name of the user
		 */
		public String describe(String object, @Nullable String requestedBy) {
			return name().toLowerCase(Locale.ROOT) + " " + object + " by " + ((requestedBy != null)
					? "'" + requestedBy.replaceAll("\\p{Cntrl}", "?") + "'" : "an unknown user");
		}

	}

}
