/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.template.OffsetPosition;
import dev.idempotency.template.OffsetPosition.TopicIdentity;

/**
 * The identities of the topics whose partitions are assigned to the consumers of a
 * container. A topic that is deleted and created again has another identity, and its
 * offsets must not be compared with those of the deleted one.
 * <p>
 * A record is compared only under an identity that was determined before the record was
 * read from the broker: when the partition was assigned, or before the record was read
 * again. Otherwise a record of the deleted topic that the consumer had still buffered
 * could raise the mark of the new one, and the records of the new topic up to that offset
 * would be lost. Each consumer thread therefore has identities of its own.
 */
public final class TopicIdentities implements Function<ConsumerRecord<?, ?>, OffsetPosition> {

	private static final Log logger = LogFactory.getLog(TopicIdentities.class);

	// The time for which other duplicates need no confirmation of their own. A
	// topic is not deleted, created again and read in less time.
	private static final long CONFIRMED = Duration.ofMillis(100).toNanos();

	private static final Duration RETRY_AFTER = Duration.ofMillis(100);

	private final Function<String, UUID> ids;

	private final ConsumerLocal<Map<TopicPartition, Known>> known = new ConsumerLocal<>(HashMap::new);

	// Whether the records of this container need identities, as far as it is known.
	private volatile boolean needed;

	public TopicIdentities(Function<String, UUID> ids) {
		this.ids = ids;
	}

	public void markNeeded() {
		this.needed = true;
	}

	// Note that partitions are assigned to the consumer of this thread, which has
	// not read from them yet.
	void assigned(Collection<TopicPartition> partitions) {
		if (!this.needed || partitions.isEmpty()) {
			return;
		}
		Map<String, Known> topics = new HashMap<>();
		try {
			for (TopicPartition partition : partitions) {
				this.known.get()
					.put(partition, topics.computeIfAbsent(partition.topic(),
							(topic) -> new Known(this.ids.apply(topic), null)));
			}
		}
		catch (IdempotencyStoreRefusedException ex) {
			// The first record tries it again.
			partitions.forEach(this.known.get()::remove);
			logger.debug("The identity of a topic is not known yet", ex);
		}
	}

	void revoked(Collection<TopicPartition> partitions) {
		if (this.needed) {
			partitions.forEach(this.known.get()::remove);
		}
	}

	@Override
	public OffsetPosition apply(ConsumerRecord<?, ?> record) {
		TopicPartition partition = Coordinates.partition(record);
		return new OffsetPosition(record.topic(), record.partition(), record.offset(),
				new Identity(this, partition, this.known.get().get(partition)));
	}

	private Known ask(TopicPartition partition) {
		// The time before the question, because the answer may be that old.
		long now = System.nanoTime();
		Known answer = new Known(this.ids.apply(partition.topic()), now);
		this.needed = true;
		this.known.get().put(partition, answer);
		return answer;
	}

	/**
	 * A known identity.
	 *
	 * @param id the id of the topic
	 * @param confirmed the time at which the broker was asked for it when a record was
	 * found to be a duplicate, {@code null} if it has not been asked since the partition
	 * was assigned
	 */
	private record Known(UUID id, @Nullable Long confirmed) {

		boolean isConfirmed() {
			return this.confirmed != null && System.nanoTime() - this.confirmed < CONFIRMED;
		}

	}

	/**
	 * The identity under which one record was read.
	 *
	 * @param identities the identities of the container
	 * @param partition the partition of the record
	 * @param read the identity that was known then, {@code null} if none was
	 */
	private record Identity(TopicIdentities identities, TopicPartition partition,
			@Nullable Known read) implements TopicIdentity {

		@Override
		public UUID get() {
			if (this.read == null) {
				this.identities.ask(this.partition);
				throw new OperationInProgressException("The record of " + this.partition
						+ " was read before the id of its topic was known, so it is read again", RETRY_AFTER);
			}
			return this.read.id();
		}

		@Override
		public void confirm() {
			UUID id = get();
			Known current = this.identities.known.get().get(this.partition);
			if (current == null || !current.isConfirmed()) {
				current = this.identities.ask(this.partition);
			}
			if (!current.id().equals(id)) {
				throw new OperationInProgressException("The topic of " + this.partition
						+ " was deleted and created again. Its record may be one of the new topic, so it is read again",
						RETRY_AFTER);
			}
		}

	}

}
