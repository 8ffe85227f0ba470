/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Map;

import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * Traces the fetches and commits of a consumer. Kafka creates it by its class name.
 */
public final class TraceConsumerInterceptor implements ConsumerInterceptor<Object, Object> {

	private Trace trace;

	private String lane;

	@Override
	public void configure(Map<String, ?> configuration) {
		this.trace = Trace.of((String) configuration.get("trace.prefix"));
		this.lane = this.trace.lane((String) configuration.get("group.id")) + "/client";
	}

	@Override
	public ConsumerRecords<Object, Object> onConsume(ConsumerRecords<Object, Object> records) {
		records.forEach((record) -> this.trace.add(this.lane, "fetched " + record.topic() + "/" + record.offset()));
		return records;
	}

	@Override
	public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
		offsets.forEach(
				(partition, offset) -> this.trace.add(this.lane, "committed " + partition + "/" + offset.offset()));
	}

	@Override
	public void close() {
		this.trace.add(this.lane, "closed");
	}

}
