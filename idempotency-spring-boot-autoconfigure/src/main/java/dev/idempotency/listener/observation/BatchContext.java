/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.observation;

import java.util.List;

import io.micrometer.observation.Observation;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * The context of the observation of a batch.
 */
final class BatchContext extends Observation.Context {

	private final List<? extends ConsumerRecord<?, ?>> records;

	BatchContext(List<? extends ConsumerRecord<?, ?>> records) {
		this.records = records;
	}

	List<? extends ConsumerRecord<?, ?>> records() {
		return this.records;
	}

}
