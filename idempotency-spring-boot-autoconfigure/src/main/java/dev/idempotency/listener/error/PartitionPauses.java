/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.MessageListenerContainer;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.OperationNotAcknowledgedException;
import dev.idempotency.Threads;
import dev.idempotency.listener.key.Coordinates;

/**
 * Pauses the partition of a blocked record and resumes it after a delay, or as soon as
 * the execution in this process that blocks it has ended. The consumer keeps polling, so
 * it stays in its group.
 * <p>
 * The partition is paused at Kafka's consumer, during each poll until the delay has
 * passed, and not at the container: pauses that the application requests there and pauses
 * for blocked records cannot end each other, whatever rebalances, and the container
 * reports only those of the application. Outside of its polls a consumer has no pauses
 * that the container does not know.
 * <p>
 * Spring Kafka's {@code ListenerContainerPauseService} does not serve: it needs a
 * {@code TaskScheduler} bean, and its resume ends pauses that the application requests.
 */
final class PartitionPauses {

	private static final Log logger = LogFactory.getLog(PartitionPauses.class);

	// A shorter pause makes no difference: a fetch after a seek may take as long.
	private static final Duration MIN = Duration.ofSeconds(1);

	// The owner may settle long before its lease expires.
	private static final Duration MAX = Duration.ofSeconds(5);

	private static final TopicPartition NONE = new TopicPartition("", -1);

	private final ScheduledExecutorService executor = Threads.scheduler("resume");

	private final Set<Block> blocks = ConcurrentHashMap.newKeySet();

	private final Map<String, Long> logged = new ConcurrentHashMap<>();

	void pause(MessageListenerContainer container, Consumer<?, ?> consumer, ConsumerRecord<?, ?> record,
			OperationBlockedException blocked) {
		TopicPartition partition = Coordinates.partition(record);
		log(container, partition, record.offset(), blocked);
		pause(container, consumer, partition, blocked.retryAfter(),
				(blocked instanceof OperationInProgressException inProgress) ? inProgress.ended() : null);
	}

	void pause(MessageListenerContainer container, Consumer<?, ?> consumer, TopicPartition partition, Duration time,
			@Nullable CompletionStage<?> ended) {
		// A stopping container holds the lock that the lookup of its consumer needs.
		MessageListenerContainer owner = container.isRunning()
				? container.getContainerFor(partition.topic(), partition.partition()) : null;
		Block block = new Block(consumer, partition);
		// A partition that is already blocked has a timer.
		if (owner == null || !this.blocks.add(block)) {
			return;
		}
		Runnable resume = () -> {
			this.blocks.remove(block);
			// Wakes the consumer.
			owner.resumePartition(NONE);
		};
		// The next poll, which delivers the other partitions, must begin before the end.
		Future<?> timer = this.executor.schedule(resume,
				Math.max(MIN.toMillis(), Math.min(MAX.toMillis(), time.toMillis()))
						+ container.getContainerProperties().getIdleBetweenPolls(),
				TimeUnit.MILLISECONDS);
		if (ended != null) {
			ended.thenRun(() -> {
				if (timer.cancel(false)) {
					this.executor.execute(resume);
				}
			});
		}
	}

	/**
	 * Pause the partitions of blocked records that are not paused anyway. Called on the
	 * thread of the consumer before each poll, and in a poll that assigns partitions.
	 */
	void beforePoll(Consumer<?, ?> consumer) {
		ConsumerState state = ConsumerState.current();
		state.polled = consumer;
		if (this.blocks.isEmpty()) {
			return;
		}
		Set<TopicPartition> running = new HashSet<>(consumer.assignment());
		running.removeAll(consumer.paused());
		running.removeIf((partition) -> !this.blocks.contains(new Block(consumer, partition)));
		if (!running.isEmpty()) {
			consumer.pause(running);
			state.paused.addAll(running);
		}
	}

	/**
	 * Resume the partitions that were paused before the poll. If that fails, it is done
	 * after the next poll: the thread of the consumer would end with an exception.
	 */
	void afterPoll(Consumer<?, ?> consumer) {
		Set<TopicPartition> paused = ConsumerState.current().paused;
		if (paused.isEmpty()) {
			return;
		}
		try {
			paused.retainAll(consumer.assignment());
			consumer.resume(paused);
			paused.clear();
		}
		catch (RuntimeException ex) {
			logger.debug("The partitions of blocked records were not resumed after the poll: " + paused, ex);
		}
	}

	// Leave the pauses of the current poll to the container.
	static void leave() {
		ConsumerState state = ConsumerState.current();
		if (state.polled != null && !state.paused.isEmpty()) {
			state.paused.retainAll(state.polled.assignment());
			state.polled.resume(state.paused);
			state.paused.clear();
		}
	}

	// Logs once for each record, not for each of its deliveries.
	private void log(MessageListenerContainer container, TopicPartition partition, long offset,
			OperationBlockedException blocked) {
		Long previous = this.logged.put(container.getListenerId() + " " + partition, offset);
		if (previous == null || previous != offset) {
			String message = "Partition " + partition + " is paused at offset " + offset + ": " + blocked.getMessage();
			// The template logs the cause of a refusal.
			if (blocked instanceof OperationInProgressException || blocked instanceof OperationNotAcknowledgedException
					|| blocked instanceof IdempotencyStoreRefusedException) {
				logger.info(message);
			}
			else if (blocked instanceof IdempotencyStoreUnavailableException) {
				// The template logs once that the store is unavailable.
				logger.debug(message, blocked);
			}
			else {
				logger.warn(message + ": " + ExceptionCauses.last(blocked).getMessage());
				logger.debug(message, blocked);
			}
		}
	}

	void stop() {
		this.executor.shutdownNow();
	}

	private record Block(Consumer<?, ?> consumer, TopicPartition partition) {

	}

}
