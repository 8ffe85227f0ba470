/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * The partition and the identity of a record.
 */
public final class Coordinates {

	private Coordinates() {
	}

	public static TopicPartition partition(ConsumerRecord<?, ?> record) {
		return new TopicPartition(record.topic(), record.partition());
	}

	public static boolean isSame(ConsumerRecord<?, ?> one, ConsumerRecord<?, ?> other) {
		return one.offset() == other.offset() && one.partition() == other.partition()
				&& one.topic().equals(other.topic());
	}

}
