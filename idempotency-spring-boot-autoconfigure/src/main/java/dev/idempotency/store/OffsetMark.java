/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.util.UUID;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;

/**
 * The offset of a record in its partition. Records of one partition are processed in the
 * order of their offsets, so the offset of the last processed one is enough to recognize
 * the earlier ones.
 *
 * @param scope the scope of the listener
 * @param topic the topic
 * @param topicId the identity of the topic. A topic that is deleted and created again has
 * another one, and its offsets begin with 0 again
 * @param partition the partition
 * @param offset the offset
 * @param token the transaction that raises the mark, {@code null} if that need not be
 * known
 * @since 0.1.0
 */
public record OffsetMark(String scope, String topic, UUID topicId, int partition, long offset, @Nullable UUID token) {

	public OffsetMark {
		Assert.isTrue(IdempotencyKey.problem(scope) == null, "'scope' must be a usable scope");
		Assert.hasText(topic, "'topic' must not be empty");
		Assert.isTrue(partition >= 0, "'partition' must not be negative");
		Assert.isTrue(offset >= 0, "'offset' must not be negative");
	}

	/**
	 * Create an offset without a token.
	 * @param scope the scope of the listener
	 * @param topic the topic
	 * @param topicId the identity of the topic
	 * @param partition the partition
	 * @param offset the offset
	 */
	public OffsetMark(String scope, String topic, UUID topicId, int partition, long offset) {
		this(scope, topic, topicId, partition, offset, null);
	}

	/**
	 * Return a primary key of fixed size, which all offsets of a scope, a topic with its
	 * identity, and a partition share.
	 * @return the identifier
	 */
	public UUID id() {
		return id(this.scope, this.topic, this.topicId, this.partition);
	}

	/**
	 * Return the primary key of a partition.
	 * @param scope the scope of the listener
	 * @param topic the topic
	 * @param topicId the identity of the topic
	 * @param partition the partition
	 * @return the identifier
	 */
	public static UUID id(String scope, String topic, UUID topicId, int partition) {
		return IdempotencyKey.of(scope, topic + "-" + partition + "#" + topicId).id();
	}

	@Override
	public String toString() {
		return "offset " + this.offset + " of partition " + this.partition + " of topic " + this.topic + " in scope '"
				+ this.scope + "'";
	}

}
