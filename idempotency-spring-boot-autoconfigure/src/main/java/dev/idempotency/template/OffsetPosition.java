/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.template;

import java.util.UUID;

import org.jspecify.annotations.Nullable;

import dev.idempotency.Internal;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.store.OffsetMark;

/**
 * The position of a record whose operation is recognized by its offset instead of by a
 * key. The records of a partition must be run in the order of their offsets: an offset
 * that is not higher than the last completed one is a duplicate.
 *
 * @param topic the topic
 * @param partition the partition
 * @param offset the offset
 * @param identity the identity of the topic
 * @since 0.1.0
 */
@Internal
public record OffsetPosition(String topic, int partition, long offset, TopicIdentity identity) {

	/**
	 * Return the mark that an operation at this position raises.
	 * @param scope the scope of its key
	 * @param token the transaction that raises it, {@code null} if there is none
	 * @return the mark
	 */
	public OffsetMark mark(String scope, @Nullable UUID token) {
		return new OffsetMark(scope, this.topic, this.identity.get(), this.partition, this.offset, token);
	}

	/**
	 * The identity of the topic that the record was read from.
	 *
	 * @since 0.1.0
	 */
	public interface TopicIdentity {

		/**
		 * Return the identity.
		 * @return the identity, which was determined before the record was read
		 * @throws OperationBlockedException if it is not known yet
		 */
		UUID get();

		/**
		 * Make sure that the topic still has this identity, before the record is skipped
		 * as a duplicate: the record may be that of a topic that was created again.
		 * @throws OperationBlockedException if the topic has another identity, so that
		 * the record has to be read again, or if it cannot be determined
		 */
		void confirm();

	}

}
