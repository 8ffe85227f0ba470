/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;

/**
 * Callbacks for the events of an outbox. They run on the threads of the relay and of the
 * observer, several at a time, and must return quickly. Exceptions are logged and
 * ignored.
 *
 * @since 0.1.0
 */
public interface OutboxObserver {

	/**
	 * The relay has tried to publish a message, and the outcome is recorded. If the
	 * outcome could not be recorded, the callback follows the next attempt.
	 * @param row the message; do not log its payload and headers
	 * @param outcome the outcome
	 * @param duration the time since the message was sent, by the clock of the database
	 */
	default void attempted(OutboxRow row, PublishOutcome outcome, Duration duration) {
	}

	/**
	 * The observer has read the status of the outbox.
	 * @param status the status
	 */
	default void observed(OutboxStore.Status status) {
	}

	/**
	 * The outcome of an attempt to publish a message.
	 */
	enum PublishOutcome {

		/**
		 * The broker has acknowledged the message.
		 */
		PUBLISHED,

		/**
		 * The broker has refused the message. The relay retries it.
		 */
		REFUSED,

		/**
		 * The broker has refused the message {@link OutboxRelay.Settings#maxAttempts()}
		 * times, or its row cannot be decoded. The message is a dead letter.
		 */
		DEAD_LETTER,

		/**
		 * The broker did not answer. The relay retries the message.
		 */
		UNAVAILABLE

	}

}
