/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.Map;

import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * An interceptor of the application that does nothing.
 */
abstract class PlainInterceptor implements ProducerInterceptor<Object, Object> {

	@Override
	public ProducerRecord<Object, Object> onSend(ProducerRecord<Object, Object> record) {
		return record;
	}

	@Override
	public void onAcknowledgement(RecordMetadata metadata, Exception error) {
	}

	@Override
	public void close() {
	}

	@Override
	public void configure(Map<String, ?> configuration) {
	}

}
