/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.applications;

import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.RecordInterceptor;

/**
 * The deliveries to listeners for single records, and their exceptions.
 */
class Deliveries implements RecordInterceptor<Object, Object> {

	private final Queue<Delivery> ended = new ConcurrentLinkedQueue<>();

	@Override
	public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
			Consumer<Object, Object> consumer) {
		return record;
	}

	@Override
	public void success(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
		this.ended.add(new Delivery(record.topic(), null));
	}

	@Override
	public void failure(ConsumerRecord<Object, Object> record, Exception exception, Consumer<Object, Object> consumer) {
		this.ended.add(new Delivery(record.topic(), exception.getCause()));
	}

	/**
	 * Return the deliveries from a topic.
	 * @param topic the topic
	 * @return the exception of the listener for each, {@code null} for none
	 */
	List<@Nullable Throwable> of(String topic) {
		return this.ended.stream()
			.filter((delivery) -> delivery.topic().equals(topic))
			.map(Delivery::exception)
			.toList();
	}

	private record Delivery(String topic, @Nullable Throwable exception) {
	}

}
