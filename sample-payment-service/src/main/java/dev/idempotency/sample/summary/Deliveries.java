/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.stereotype.Component;

/**
 * Counts the deliveries to each consumer group, including suppressed duplicates.
 */
@Component
class Deliveries implements RecordInterceptor<Object, Object> {

	private final Map<String, LongAdder> byGroup = new ConcurrentHashMap<>();

	@Override
	public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
			Consumer<Object, Object> consumer) {
		this.byGroup.computeIfAbsent(consumer.groupMetadata().groupId(), (group) -> new LongAdder()).increment();
		return record;
	}

	long of(String group) {
		LongAdder deliveries = this.byGroup.get(group);
		return (deliveries != null) ? deliveries.sum() : 0;
	}

}
