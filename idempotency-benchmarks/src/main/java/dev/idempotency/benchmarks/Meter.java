/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.BatchInterceptor;
import org.springframework.kafka.listener.RecordInterceptor;

/**
 * Measures the listener of a container as an interceptor. The measured time includes the
 * work of the library but not polling and offset commits. Spring Boot configures only
 * interceptors of these type arguments.
 */
final class Meter implements RecordInterceptor<Object, Object>, BatchInterceptor<Object, Object> {

	private final ThreadLocal<long[]> started = ThreadLocal.withInitial(() -> new long[1]);

	private volatile @Nullable Window window;

	void open(Window window) {
		this.window = window;
	}

	@Override
	public ConsumerRecord<Object, Object> intercept(ConsumerRecord<Object, Object> record,
			Consumer<Object, Object> consumer) {
		window().begins(record);
		this.started.get()[0] = System.nanoTime();
		return record;
	}

	@Override
	public void success(ConsumerRecord<Object, Object> record, Consumer<Object, Object> consumer) {
		long end = System.nanoTime();
		window().ended(record, this.started.get()[0], end, 1);
	}

	@Override
	public void failure(ConsumerRecord<Object, Object> record, Exception exception, Consumer<Object, Object> consumer) {
		window().failed(exception);
	}

	@Override
	public ConsumerRecords<Object, Object> intercept(ConsumerRecords<Object, Object> records,
			Consumer<Object, Object> consumer) {
		records.forEach((record) -> window().begins(record));
		this.started.get()[0] = System.nanoTime();
		return records;
	}

	@Override
	public void success(ConsumerRecords<Object, Object> records, Consumer<Object, Object> consumer) {
		long end = System.nanoTime();
		records.forEach((record) -> window().ended(record, this.started.get()[0], end, records.count()));
	}

	@Override
	public void failure(ConsumerRecords<Object, Object> records, Exception exception,
			Consumer<Object, Object> consumer) {
		window().failed(exception);
	}

	private Window window() {
		Window current = this.window;
		if (current == null) {
			throw new IllegalStateException("No measurement is running");
		}
		return current;
	}

}
