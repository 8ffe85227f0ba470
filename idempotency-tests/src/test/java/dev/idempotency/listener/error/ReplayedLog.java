/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

import static org.awaitility.Awaitility.await;

/**
 * A consumer of two partitions with three records each, which returns all records from
 * its position on.
 */
final class ReplayedLog extends MockConsumer<Object, Object> {

	static final List<TopicPartition> PARTITIONS = List.of(new TopicPartition("payments", 0),
			new TopicPartition("payments", 1));

	static final int SIZE = 3;

	private volatile boolean open;

	private volatile int polls;

	ReplayedLog() {
		super("earliest");
		updateBeginningOffsets(Map.of(PARTITIONS.get(0), 0L, PARTITIONS.get(1), 0L));
	}

	// The container is idle before.
	void open() {
		int before = this.polls;
		await().until(() -> this.polls > before + 5);
		this.open = true;
	}

	synchronized long lastCommitted(TopicPartition partition) {
		OffsetAndMetadata committed = committed(Set.of(partition)).get(partition);
		return (committed != null) ? committed.offset() : 0;
	}

	@Override
	public synchronized ConsumerRecords<Object, Object> poll(Duration timeout) {
		this.polls++;
		try {
			wait(10);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		for (TopicPartition partition : PARTITIONS) {
			for (long offset = position(partition); this.open && offset < SIZE; offset++) {
				addRecord(new ConsumerRecord<>("payments", partition.partition(), offset, "key", "value"));
			}
		}
		return super.poll(Duration.ZERO);
	}

}
