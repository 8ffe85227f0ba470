/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.store.Failure;

/**
 * Stores messages until they are published. Each method throws an
 * {@link IdempotencyStoreUnavailableException} when the database is unavailable: the
 * relay retries later, and a protected listener that sends a message is blocked.
 *
 * @since 0.1.0
 */
public interface OutboxStore {

	/**
	 * The name of the table.
	 * @return the name
	 */
	String table();

	/**
	 * Add messages in the current transaction of the caller.
	 * @param rows the messages, in their order
	 * @throws IllegalStateException without a transaction of the outbox's database
	 */
	void insert(List<OutboxRow> rows);

	/**
	 * Claim messages for publication, in a transaction that lasts until the claim is
	 * closed. Until then no other claim gets a message with the same topic and key. A
	 * claim does not wait for other claims: it leaves out the messages that they hold.
	 * @param limit approximate maximum number of messages
	 * @param excludedTopics topics whose messages are not claimed
	 * @return the claim
	 */
	Claim claim(int limit, Set<String> excludedTopics);

	/**
	 * Notify the relays of other instances of new messages, if the database supports
	 * notifications.
	 */
	void notifyRelays();

	/**
	 * Count the messages in the outbox.
	 * @return the counts
	 */
	Status status();

	/**
	 * List dead letters, the latest first.
	 * @param limit maximum number of messages
	 * @return the dead letters
	 */
	List<DeadLetter> deadLetters(int limit);

	/**
	 * Make a dead letter pending again.
	 * @param id the id of the message
	 * @return whether a dead letter has this id
	 */
	boolean retry(UUID id);

	/**
	 * Make the dead letters of a topic pending again, those first that were sent first.
	 * @param topic the topic
	 * @param limit maximum number of messages
	 * @return the number of messages that were changed
	 */
	int retry(String topic, int limit);

	/**
	 * Delete the dead letters of a topic, those first that were sent first.
	 * @param topic the topic
	 * @param limit maximum number of messages
	 * @return the number of messages that were deleted
	 */
	int discard(String topic, int limit);

	/**
	 * Delete a dead letter.
	 * @param id the id of the message
	 * @return whether a dead letter had this id
	 */
	boolean discard(UUID id);

	/**
	 * Numbers of messages in an outbox. Counting stops at {@value #MAX_COUNT}, so that it
	 * stays cheap: this number stands for as many or more.
	 *
	 * @param pending messages to publish
	 * @param oldest age of the oldest message that is pending or blocked, zero if there
	 * is none
	 * @param deadLetters messages that the relay has given up
	 * @param blocked messages that are not published because an earlier message with the
	 * same topic and key is a dead letter
	 */
	record Status(long pending, Duration oldest, long deadLetters, long blocked) {

		/**
		 * The largest number that is counted.
		 */
		public static final int MAX_COUNT = 100_000;

	}

	/**
	 * A message that the relay has given up, because the broker has refused it
	 * {@link OutboxRelay.Settings#maxAttempts()} times or because its row cannot be
	 * decoded. An operator retries or discards it.
	 *
	 * @param id id of the message
	 * @param topic topic of the message
	 * @param aggregateType type of the aggregate
	 * @param aggregateId id of the aggregate
	 * @param type type of the event
	 * @param idempotencyKey idempotency key of the message
	 * @param createdAt when the message was sent
	 * @param deadSince when the relay gave the message up
	 * @param attempts number of refusals
	 * @param failure the last refusal
	 */
	record DeadLetter(UUID id, String topic, String aggregateType, String aggregateId, String type,
			String idempotencyKey, Instant createdAt, Instant deadSince, int attempts, Failure failure) {

	}

	/**
	 * The treatment of messages whose topic and key are those of an earlier dead letter.
	 */
	enum DeadLetterPolicy {

		/**
		 * They are blocked, without a time limit, until the dead letter is retried or
		 * discarded.
		 */
		BLOCK_KEY,

		/**
		 * They are published. The dead letter loses its place in the order.
		 */
		SKIP

	}

	/**
	 * Messages that are reserved for one relay while this claim is open.
	 */
	interface Claim extends AutoCloseable {

		/**
		 * The messages. Those with the same topic and key are in the order in which they
		 * were sent.
		 * @return the messages, empty if none is due
		 */
		List<ClaimedRow> rows();

		/**
		 * Record the outcomes and end the claim. Messages without an outcome stay
		 * unchanged.
		 * @param published messages that the broker has acknowledged
		 * @param failures messages that the broker has refused
		 */
		void settle(List<ClaimedRow> published, List<RelayFailure> failures);

		/**
		 * End the claim. Without {@link #settle} all messages stay unchanged.
		 */
		@Override
		void close();

	}

	/**
	 * A message of a claim.
	 *
	 * @param row the message
	 * @param attempts number of refusals so far
	 * @param age time between sending and claiming the message, by the clock of the
	 * database
	 * @param claimedAt when the message was claimed, in {@link System#nanoTime()}
	 * @param undecodable why the row cannot be decoded, {@code null} if it can. The row
	 * then holds only the readable columns
	 */
	record ClaimedRow(OutboxRow row, int attempts, Duration age, long claimedAt,
			@Nullable UndecodableMessageException undecodable) {

		Duration elapsed() {
			return this.age.plusNanos(System.nanoTime() - this.claimedAt);
		}

	}

	/**
	 * A message that could not be published.
	 *
	 * @param claimed the message
	 * @param attempts number of refusals, this one included
	 * @param error the reason
	 * @param retryAfter pause before the next attempt, {@code null} to make the message a
	 * dead letter
	 */
	record RelayFailure(ClaimedRow claimed, int attempts, Throwable error, @Nullable Duration retryAfter) {

	}

}
