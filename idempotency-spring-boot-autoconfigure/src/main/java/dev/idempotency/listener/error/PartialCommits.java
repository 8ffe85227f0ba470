/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.ListenerUtils;
import org.springframework.kafka.listener.MessageListenerContainer;

/**
 * The offsets of the processed records of partial batches, which are committed at once.
 * The container then commits what was acknowledged before, which may have lower offsets:
 * before the next poll in the manual ack modes, and later in those that wait for a time
 * or a number. After that, the higher offsets are committed again.
 */
final class PartialCommits {

	private static final Log logger = LogFactory.getLog(PartialCommits.class);

	// The container reads another clock.
	private static final Duration MARGIN = Duration.ofMillis(200);

	// An entry may stay for as long as its partition has no further records.
	private static final Duration LOOK_INTERVAL = Duration.ofSeconds(1);

	private final Map<TopicPartition, Long> committed = new HashMap<>();

	private long since;

	private long previousPoll;

	private long lookedAt;

	// After a rollback of the Kafka transaction the whole batch is redelivered.
	void commit(Map<TopicPartition, Long> next, Consumer<?, ?> consumer, MessageListenerContainer container) {
		if (container.getContainerProperties().getKafkaAwareTransactionManager() == null) {
			this.committed.putAll(next);
			this.since = System.nanoTime();
			send(next, consumer, container);
		}
	}

	// Commit again before a poll or, at last, before the consumer gives up its
	// partitions. The container has committed what is due then.
	void commitAgain(Consumer<?, ?> consumer, MessageListenerContainer container, boolean last) {
		long previous = this.previousPoll;
		this.previousPoll = System.nanoTime();
		if (this.committed.isEmpty()) {
			return;
		}
		ContainerProperties properties = container.getContainerProperties();
		switch (properties.getAckMode()) {
			case MANUAL, MANUAL_IMMEDIATE -> send(this.committed, consumer, container);
			case TIME, COUNT_TIME -> {
				// The container may sleep between its look at the time and the poll.
				if (!last && !isOver(Duration.ofMillis(properties.getAckTime()), previous)) {
					return;
				}
				send(lowered(consumer, properties), consumer, container);
			}
			case COUNT -> {
				// The container also commits after a poll without records.
				if (!last && this.previousPoll - this.lookedAt < LOOK_INTERVAL.toNanos()) {
					return;
				}
				this.lookedAt = this.previousPoll;
				Map<TopicPartition, Long> lowered = lowered(consumer, properties);
				send(lowered, consumer, container);
				if (!last) {
					this.committed.keySet().removeAll(lowered.keySet());
					return;
				}
			}
			default -> {
			}
		}
		this.committed.clear();
	}

	private boolean isOver(Duration time, long now) {
		return now - this.since > time.plus(MARGIN).toNanos();
	}

	// Later records may have been committed meanwhile.
	private Map<TopicPartition, Long> lowered(Consumer<?, ?> consumer, ContainerProperties properties) {
		Map<TopicPartition, Long> lowered = new HashMap<>(this.committed);
		try {
			Map<TopicPartition, OffsetAndMetadata> found = consumer.committed(lowered.keySet(),
					properties.getSyncCommitTimeout());
			lowered.entrySet().removeIf((entry) -> {
				OffsetAndMetadata current = found.get(entry.getKey());
				if (current != null && current.offset() > entry.getValue()) {
					this.committed.remove(entry.getKey());
				}
				return current == null || current.offset() >= entry.getValue();
			});
			return lowered;
		}
		catch (RuntimeException ex) {
			logger.debug("The offsets of the processed records of a partial batch were not committed again: " + lowered,
					ex);
			return Map.of();
		}
	}

	private static void send(Map<TopicPartition, Long> next, Consumer<?, ?> consumer,
			MessageListenerContainer container) {
		if (next.isEmpty()) {
			return;
		}
		ContainerProperties properties = container.getContainerProperties();
		Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
		next.forEach((partition, offset) -> offsets.put(partition,
				ListenerUtils.createOffsetAndMetadata(container, offset)));
		try {
			if (properties.isSyncCommits()) {
				consumer.commitSync(offsets, properties.getSyncCommitTimeout());
			}
			else {
				consumer.commitAsync(offsets, properties.getCommitCallback());
			}
		}
		catch (RuntimeException ex) {
			// The records are redelivered and skipped as duplicates.
			logger.debug("The offsets of the processed records of a partial batch were not committed, "
					+ "so these records are redelivered as duplicates: " + offsets, ex);
		}
	}

}
