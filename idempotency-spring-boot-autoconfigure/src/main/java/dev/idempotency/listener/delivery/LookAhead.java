/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.util.ArrayDeque;
import java.util.Deque;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.jspecify.annotations.Nullable;

import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.template.ClaimAhead;
import dev.idempotency.template.IdempotentOperation;

/**
 * The records that the consumer of this thread has polled and that are not delivered yet,
 * in the order in which its container delivers them. They are a guess: a seek, a pause,
 * an interceptor or a stop may change what is delivered next. A {@link ClaimAhead} is
 * therefore used only for exactly the record that it was made for.
 */
public final class LookAhead {

	// A thread has one if its consumer has a PolledRecordsInterceptor.
	private static final ConsumerLocal<LookAhead> CURRENT = new ConsumerLocal<>();

	private final Deque<ConsumerRecord<?, ?>> polled = new ArrayDeque<>();

	private @Nullable ClaimAhead claims;

	// The application may have decorated a protected listener with one of its own.
	private int depth;

	// Note the records that the consumer of this thread has polled.
	static void polled(ConsumerRecords<?, ?> records) {
		LookAhead current = CURRENT.find();
		if (current == null) {
			current = new LookAhead();
			CURRENT.set(current);
		}
		current.polled.clear();
		records.forEach(current.polled::add);
	}

	static @Nullable LookAhead begin(ConsumerRecord<?, ?> record) {
		LookAhead current = CURRENT.find();
		if (current != null && current.depth++ == 0) {
			// The records before it were filtered. A record that is not there was polled
			// earlier, so that nothing is known about the next one.
			ConsumerRecord<?, ?> candidate = current.polled.poll();
			while (candidate != null && !Coordinates.isSame(candidate, record)) {
				candidate = current.polled.poll();
			}
			if (current.claims != null) {
				current.claims.begin();
			}
		}
		return current;
	}

	void end() {
		if (--this.depth == 0 && this.claims != null) {
			this.claims.end();
		}
	}

	public static @Nullable ClaimAhead claims(ListenerSettings settings) {
		LookAhead current = CURRENT.find();
		if (current == null || current.depth != 1) {
			return null;
		}
		// The container has only one method.
		if (current.claims == null) {
			current.claims = settings.template().claimAhead(() -> current.next(settings));
		}
		return current.claims;
	}

	private @Nullable IdempotentOperation next(ListenerSettings settings) {
		ConsumerRecord<?, ?> next = this.polled.peek();
		return (next != null) ? settings.operations().resolveAhead(next) : null;
	}

	// Release the claim for the next record, because partitions were revoked from
	// the consumer of this thread, or it has ended.
	static void release() {
		LookAhead current = CURRENT.find();
		if (current != null && current.claims != null) {
			current.claims.release();
		}
	}

}
