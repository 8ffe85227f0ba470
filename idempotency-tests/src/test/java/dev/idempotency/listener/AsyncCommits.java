/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

import dev.idempotency.testsupport.Kafka;

/**
 * Waits for the offsets of asynchronous listeners. Spring Kafka drops a commit that the
 * results of records interrupt ({@code commitIfNecessary} ignores the
 * {@code WakeupException}), until the next record of the partition. Since 4.0.8 and 4.1.2
 * it drops only one that is interrupted twice. A duplicate of the last record is
 * therefore sent if no other record follows, which changes nothing else.
 */
final class AsyncCommits {

	// Longer than a record in progress elsewhere is blocked.
	private static final Duration REGULAR = Duration.ofSeconds(15);

	private static final Duration BETWEEN_COPIES = Duration.ofSeconds(3);

	private static final int COPIES = 20;

	private AsyncCommits() {
	}

	// The group has the same name as the topic.
	static void awaitAll(String topic) {
		last(topic).keySet().forEach((partition) -> await(topic, partition));
	}

	static void await(String topic, int partition) {
		Duration time = REGULAR;
		for (int copies = 0; copies < COPIES; copies++) {
			try {
				awaitNoLag(time, topic, partition);
				return;
			}
			catch (ConditionTimeoutException ex) {
				// The commit of a copy can be dropped as well, until the next copy.
				ConsumerRecord<String, String> record = last(topic).get(partition);
				Kafka.send(new ProducerRecord<>(topic, partition, record.key(), record.value(), record.headers()));
				time = BETWEEN_COPIES;
			}
		}
		awaitNoLag(REGULAR, topic, partition);
	}

	private static Map<Integer, ConsumerRecord<String, String>> last(String topic) {
		return Kafka.read(topic)
			.stream()
			.collect(Collectors.toMap(ConsumerRecord::partition, (record) -> record, (one, next) -> next));
	}

	private static void awaitNoLag(Duration time, String topic, int partition) {
		Awaitility.await().atMost(time).until(() -> Kafka.lag(topic, topic, partition) == 0);
	}

}
