/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.concurrent.CompletionStage;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Internal;

/**
 * Sends stored messages to the broker. Only the thread of the relay calls it.
 *
 * @since 0.1.0
 */
@Internal
public interface OutboxPublisher {

	/**
	 * Begin a round of messages. The relay has received the results of earlier rounds, or
	 * does not wait for them any more: a message of an earlier round that is not sent yet
	 * must not be sent.
	 */
	default void beginRound() {
	}

	/**
	 * Whether, and up to which size, messages may be published without waiting for the
	 * results of earlier ones with the same topic and key. Such a publisher sends them in
	 * their order and to one partition within a round. It completes a result with an
	 * exception before it sends a later message to the same partition, on the thread that
	 * sends, and that thread sends nothing before the actions that depend on the result
	 * have returned. It implements {@link #abandon()}.
	 * @return the approximate size of all messages whose results are pending, in bytes.
	 * Zero unless overridden: the relay then waits for each result before it publishes
	 * the next message with the same topic and key
	 */
	default int maxBytesInFlight() {
		return 0;
	}

	/**
	 * Abandon the round: no message that is not sent yet is sent. The results of all
	 * messages without an outcome, and of those that are published before the next round,
	 * complete with an exception of the kind {@link FailureKind#ABANDONED}. The method is
	 * called by the thread that completes the result of a failed message, and does not
	 * block.
	 */
	default void abandon() {
	}

	/**
	 * Create another publisher, for a second thread that publishes a backlog. It shares
	 * nothing with this one that a round changes, and is closed together with this one.
	 * @return the other publisher. {@code null} unless overridden: a backlog is then
	 * published by one thread
	 */
	default @Nullable OutboxPublisher another() {
		return null;
	}

	/**
	 * Send a message without waiting for the acknowledgment of the broker. The call may
	 * block while the producer fetches the metadata of the topic. It never throws: a
	 * failure completes the result.
	 * @param row the message
	 * @return a result that completes when the broker and its replicas have the message,
	 * or exceptionally, within {@link OutboxRelay.Settings#sendTimeout()}
	 */
	CompletionStage<?> publish(OutboxRow row);

	/**
	 * Results of {@link #publish} are overdue: the producer may be broken.
	 */
	default void resultsOverdue() {
	}

	/**
	 * The relay has stopped, after its last round. It is perhaps started again later, and
	 * then begins a round: resources that are released now are acquired again.
	 */
	default void relayStopped() {
	}

	/**
	 * Classify a failure.
	 * @param error the exception with which a result of {@link #publish} has completed
	 * @return the kind of the failure
	 */
	FailureKind kindOf(Throwable error);

	/**
	 * The kind of a failure to publish a message.
	 */
	enum FailureKind {

		/**
		 * The broker refuses this message.
		 */
		REFUSED,

		/**
		 * The broker refuses all messages to this topic.
		 */
		TOPIC_REFUSED,

		/**
		 * The message is not sent because another one failed: the broker refuses a
		 * message of the same producer batch, or the publisher has abandoned the round.
		 * This message is sent again in the next round.
		 */
		ABANDONED,

		/**
		 * The broker does not answer, or cannot accept the message now.
		 */
		UNAVAILABLE

	}

}
