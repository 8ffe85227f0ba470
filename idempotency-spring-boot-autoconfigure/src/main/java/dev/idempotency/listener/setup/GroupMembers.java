/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.setup;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.jspecify.annotations.Nullable;

import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.range.TopicIds;
import dev.idempotency.migration.MigratingStore;

/**
 * Warns about members of a consumer group whose keys move to another store. An instance
 * that uses only the old store does not see the keys of the new one. The check runs
 * before the containers start, because their consumers would be members as well, and
 * delays the start by a few seconds at most.
 */
final class GroupMembers extends StartupCheck {

	private static final Log logger = LogFactory.getLog(GroupMembers.class);

	private static final Duration TIMEOUT = Duration.ofSeconds(5);

	// Containers start at Integer.MAX_VALUE - 100.
	private static final int PHASE = Integer.MAX_VALUE / 2;

	private final Map<String, Map<String, Object>> consumers = new HashMap<>();

	GroupMembers() {
		super(PHASE);
	}

	/**
	 * Add the group of a listener.
	 * @param consumer the configuration of its consumers, {@code null} if the binder does
	 * not show it
	 */
	synchronized void add(@Nullable String group, ListenerSettings listener, @Nullable Map<String, Object> consumer) {
		if (group == null || !(listener.template().store() instanceof MigratingStore)) {
			return;
		}
		if (consumer == null) {
			warnUnknown(group, "the binder does not show the connection of its consumers");
			return;
		}
		this.consumers.put(group, consumer);
		if (isRunning()) {
			check();
		}
	}

	@Override
	protected synchronized void check() {
		long deadline = System.nanoTime() + TIMEOUT.toNanos();
		this.consumers.forEach((group, consumer) -> check(group, consumer, deadline));
		this.consumers.clear();
	}

	private static void check(String group, Map<String, Object> consumer, long deadline) {
		try {
			List<String> members = TopicIds
				.ask(consumer, Duration.ofNanos(deadline - System.nanoTime()),
						(client) -> client.describeConsumerGroups(List.of(group)).all())
				.values()
				.stream()
				.flatMap((description) -> description.members().stream())
				.map((member) -> member.clientId() + " at " + member.host())
				.toList();
			if (!members.isEmpty()) {
				logger.warn("The keys of the consumer group '" + group
						+ "' move to another store, and other members of the group are connected: " + members
						+ ". An instance without 'migrate-from' does not see the keys of the new store, so that records "
						+ "may take effect twice. Stop all such instances. A process that was killed stays a member until "
						+ "its session times out");
			}
		}
		catch (KafkaException ex) {
			if (!(ex.getCause() instanceof GroupIdNotFoundException)) {
				warnUnknown(group, String.valueOf(ex.getMessage()));
			}
		}
	}

	private static void warnUnknown(String group, String reason) {
		logger.warn("The keys of the consumer group '" + group
				+ "' move to another store, and the members of the group could not be determined (" + reason
				+ "). Make sure that no instance without 'migrate-from' runs");
	}

}
