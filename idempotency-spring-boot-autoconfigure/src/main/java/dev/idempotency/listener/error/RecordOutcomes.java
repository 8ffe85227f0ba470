/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.error;

import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * What the error handling of a container tells its listeners about a record, and asks
 * them.
 */
public interface RecordOutcomes {

	void failed(ConsumerRecord<?, ?> record);

	// The offset of the record is committed without an acknowledgment.
	default void recovered(ConsumerRecord<?, ?> record) {
	}

	// Whether a commit of its offset would pass an unacknowledged record.
	default boolean isBehindUnacknowledged(ConsumerRecord<?, ?> record) {
		return false;
	}

}
