/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.time.Duration;
import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.outbox.OutboxStore.ClaimedRow;

/**
 * The messages of one claim that have the same ordering key, in their order. The relay's
 * thread publishes them; the thread of the producer reports failures.
 */
final class OutboxRun {

	private final List<ClaimedRow> rows;

	private final @Nullable Ack[] acks;

	// The number of messages that have been given to the publisher. It is written
	// before 'failed' is read, so that a failure either prevents the next message or
	// finds that it has been given.
	private volatile int given;

	private volatile boolean failed;

	// The number of messages whose outcome has been processed.
	private int processed;

	private boolean over;

	OutboxRun(List<ClaimedRow> rows) {
		this.rows = rows;
		this.acks = new Ack[rows.size()];
	}

	String topic() {
		return this.rows.get(0).row().topic();
	}

	@Nullable ClaimedRow peek() {
		return (this.over || this.given == this.rows.size()) ? null : this.rows.get(this.given);
	}

	int give() {
		int index = this.given;
		this.given = index + 1;
		if (this.failed) {
			this.given = index;
			return -1;
		}
		return index;
	}

	boolean fail(int index) {
		this.failed = true;
		return this.given > index + 1;
	}

	void add(int index, Ack ack) {
		this.acks[index] = ack;
	}

	@Nullable Ack next() {
		Ack next = (this.processed < this.rows.size()) ? this.acks[this.processed] : null;
		if (next != null) {
			this.processed++;
		}
		return next;
	}

	// Whether the outcome of each message that was given to the publisher
	// is processed.
	boolean isIdle() {
		return this.processed == this.given;
	}

	ClaimedRow first() {
		return this.rows.get(this.processed);
	}

	void end() {
		this.over = true;
	}

	boolean isOver() {
		return this.over;
	}

	/**
	 * The producer's report about a message.
	 *
	 * @param claimed the message
	 * @param error why it failed, {@code null} if the broker has acknowledged it
	 * @param elapsed time from sending the message until the report, which may be long
	 * before the end of the round
	 */
	record Ack(ClaimedRow claimed, @Nullable Throwable error, Duration elapsed) {

		static Ack of(ClaimedRow claimed, @Nullable Throwable error) {
			return new Ack(claimed, error, claimed.elapsed());
		}

	}

}
