/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.listener.consumer.ConsumerLocal;

/**
 * The state of the consumer whose thread this is.
 */
final class ConsumerState {

	private static final ConsumerLocal<ConsumerState> CURRENT = new ConsumerLocal<>(ConsumerState::new);

	// The exception of the record that is blocked in the current delivery.
	@Nullable RuntimeException blocked;

	// Whether the error handler invokes the listener again.
	boolean retrying;

	// The container whose polls are intercepted, and its consumer.
	@Nullable MessageListenerContainer container;

	@Nullable Consumer<?, ?> polled;

	// The partitions that are paused for blocked records during the current poll.
	final Set<TopicPartition> paused = new HashSet<>();

	final PartialCommits commits = new PartialCommits();

	final PollProgress poll = new PollProgress();

	// The offsets to which the partitions were sought when the container last left a
	// poll.
	Map<TopicPartition, Long> sought = Map.of();

	static ConsumerState current() {
		return CURRENT.get();
	}

}
