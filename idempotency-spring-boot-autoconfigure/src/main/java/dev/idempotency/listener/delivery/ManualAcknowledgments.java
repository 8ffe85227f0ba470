/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Threads;
import dev.idempotency.listener.delivery.ContainerAcknowledgments.UnacknowledgedRecord;

/**
 * The {@link ContainerAcknowledgments} of all containers in the manual ack modes. A
 * periodic task releases the unacknowledged records of revoked partitions, and passes on
 * acknowledgments whose completions the store has recorded late. All records are released
 * after the containers have stopped and before the store closes.
 */
public final class ManualAcknowledgments implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(ManualAcknowledgments.class);

	// Containers stop at Integer.MAX_VALUE - 100, the template settles at half of it.
	private static final int PHASE = Integer.MAX_VALUE / 2 + 1;

	// The application may unregister a container.
	private final Map<MessageListenerContainer, ContainerAcknowledgments> containers = Collections
		.synchronizedMap(new WeakHashMap<>());

	private final Map<IdempotencyKey, UnacknowledgedRecord> originals = new ConcurrentHashMap<>();

	private @Nullable ScheduledExecutorService executor;

	public static boolean isManual(AckMode mode) {
		return mode == AckMode.MANUAL || mode == AckMode.MANUAL_IMMEDIATE;
	}

	public ContainerAcknowledgments create(MessageListenerContainer container) {
		if (!isManual(container.getContainerProperties().getAckMode())) {
			return ContainerAcknowledgments.NONE;
		}
		ContainerAcknowledgments created = new ContainerAcknowledgments(this.originals);
		this.containers.put(container, created);
		startTask();
		return created;
	}

	private synchronized void startTask() {
		if (this.executor == null) {
			this.executor = Threads.scheduler("acknowledgments");
			this.executor.scheduleWithFixedDelay(() -> entries().forEach(ManualAcknowledgments::update), 1, 1,
					TimeUnit.SECONDS);
		}
	}

	private static void update(MessageListenerContainer container, ContainerAcknowledgments acknowledgments) {
		try {
			if (!acknowledgments.isEmpty()) {
				// A container whose consumers have stopped returns null.
				Collection<TopicPartition> assigned = container.getAssignedPartitions();
				acknowledgments.retain((assigned != null) ? assigned : List.of());
				acknowledgments.settle();
			}
		}
		catch (RuntimeException ex) {
			logger.warn("The unacknowledged records of the container '" + container.getListenerId()
					+ "' could not be released, or an acknowledgment could not be passed on", ex);
		}
	}

	private Map<MessageListenerContainer, ContainerAcknowledgments> entries() {
		synchronized (this.containers) {
			return Map.copyOf(this.containers);
		}
	}

	@Override
	public synchronized void start() {
		if (!this.containers.isEmpty()) {
			startTask();
		}
	}

	@Override
	public synchronized void stop() {
		if (this.executor != null) {
			this.executor.shutdownNow();
			this.executor = null;
		}
		entries().values().forEach((acknowledgments) -> acknowledgments.retain(List.of()));
	}

	@Override
	public synchronized boolean isRunning() {
		return this.executor != null;
	}

	@Override
	public int getPhase() {
		return PHASE;
	}

}
