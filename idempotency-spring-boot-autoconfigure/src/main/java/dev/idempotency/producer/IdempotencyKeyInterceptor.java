/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.util.Map;

import org.apache.kafka.clients.producer.ProducerInterceptor;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;
import org.springframework.util.StringUtils;

/**
 * {@link IdempotencyKeys#stamp Stamps} every record that a producer sends without an
 * idempotency key. Add it to the producer's {@code interceptor.classes} or set it on a
 * {@code KafkaTemplate}; it is not installed automatically.
 * <p>
 * It runs once for each call of {@code send}, so the retries of the producer keep the
 * key. If the application sends a message again as a new record, for example after a
 * timeout, the record gets a new key and takes effect twice. To avoid this, use a
 * business key, or stamp a record once and resend that record or a copy with its headers.
 * <p>
 * Two kinds of records are not stamped: CloudEvents, whose source and id are their key,
 * and records that Spring Kafka forwards to a retry or dead-letter topic, which have the
 * key or the coordinates of the original record.
 *
 * @param <K> the type of the keys of the records
 * @param <V> the type of their values
 * @since 0.1.0
 */
public class IdempotencyKeyInterceptor<K, V> implements ProducerInterceptor<K, V> {

	/**
	 * The property of the producer with the name of the header for the key. Default:
	 * {@value IdempotencyKeys#HEADER}.
	 */
	public static final String HEADER_CONFIG = "idempotency.key.header";

	private String header = IdempotencyKeys.HEADER;

	@Override
	public void configure(Map<String, ?> configs) {
		Object name = configs.get(HEADER_CONFIG);
		if (name == null) {
			return;
		}
		if (!(name instanceof String text) || !StringUtils.hasText(text)) {
			throw new ConfigException(HEADER_CONFIG, name, "Set it to the name of a header");
		}
		this.header = text;
	}

	@Override
	public ProducerRecord<K, V> onSend(ProducerRecord<K, V> record) {
		return hasKey(record.headers()) ? record : IdempotencyKeys.stamp(record, this.header);
	}

	// A stamp would hide the stable key, because the consumer prefers the header.
	private static boolean hasKey(Headers headers) {
		return (IdempotencyKeys.has(headers, "ce_source") && IdempotencyKeys.has(headers, "ce_id"))
				|| IdempotencyKeys.has(headers, "kafka_original-offset")
				|| IdempotencyKeys.has(headers, "kafka_dlt-original-offset");
	}

	@Override
	public void onAcknowledgement(@Nullable RecordMetadata metadata, @Nullable Exception exception) {
	}

	@Override
	public void close() {
	}

}
