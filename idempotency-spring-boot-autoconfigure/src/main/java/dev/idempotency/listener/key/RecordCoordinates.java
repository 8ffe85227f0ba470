/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyKey;

/**
 * Formats the topic, partition, offset and timestamp of a record as a key. Records on
 * retry and dead-letter topics have the coordinates of the original record in headers of
 * Spring Kafka. The timestamp distinguishes topics that had the same name one after the
 * other.
 */
final class RecordCoordinates {

	// Written by retry topics, and by a DeadLetterPublishingRecoverer on its own.
	private static final String[] FAMILIES = { "kafka_original-", "kafka_dlt-original-" };

	// Spring Kafka does not overwrite headers of the original, even if a producer has
	// copied them from another record. This header takes precedence over them.
	private static final String HEADER = "idempotency-coordinates";

	private RecordCoordinates() {
	}

	static String key(ConsumerRecord<?, ?> record) {
		return key(record.topic(), record.partition(), record.offset(), record.timestamp());
	}

	// Add the coordinates of a record as a header if it has headers that name
	// another original, because its copies on retry topics inherit its headers.
	static void note(ConsumerRecord<?, ?> record) {
		Headers headers = record.headers();
		if (headers.lastHeader(HEADER) != null || headers.lastHeader(FAMILIES[0] + "topic") != null
				|| headers.lastHeader(FAMILIES[1] + "topic") != null) {
			headers.remove(HEADER).add(HEADER, key(record).getBytes(StandardCharsets.UTF_8));
		}
	}

	// The coordinates of the record of which a record is a copy.
	static @Nullable String original(ConsumerRecord<?, ?> record, Set<String> topics) {
		String noted = text(record.headers(), HEADER);
		if (noted != null && topics.stream().anyMatch((topic) -> noted.startsWith(topic + "-"))
				&& IdempotencyKey.problem(noted) == null) {
			return noted;
		}
		return Stream.of(FAMILIES)
			.flatMap((family) -> Stream.ofNullable(original(record.headers(), family, topics)))
			.findFirst()
			.orElse(null);
	}

	// The topic of the record of which a record is a copy.
	static @Nullable String originalTopic(ConsumerRecord<?, ?> record, Set<String> topics) {
		return Stream.of(FAMILIES)
			.flatMap((family) -> Stream.ofNullable(text(record.headers(), family + "topic")))
			.filter(topics::contains)
			.findFirst()
			.orElse(null);
	}

	private static @Nullable String text(Headers headers, String name) {
		byte[] text = first(headers, name);
		return (text != null) ? new String(text, StandardCharsets.UTF_8) : null;
	}

	private static @Nullable String original(Headers headers, String family, Set<String> topics) {
		String topic = text(headers, family + "topic");
		byte[] partition = first(headers, family + "partition");
		byte[] offset = first(headers, family + "offset");
		byte[] timestamp = first(headers, family + "timestamp");
		if (topic == null || !topics.contains(topic) || partition == null || partition.length != Integer.BYTES
				|| offset == null || offset.length != Long.BYTES || timestamp == null
				|| timestamp.length != Long.BYTES) {
			return null;
		}
		return key(topic, ByteBuffer.wrap(partition).getInt(), ByteBuffer.wrap(offset).getLong(),
				ByteBuffer.wrap(timestamp).getLong());
	}

	// The first value, because each further failure appends a value.
	private static byte @Nullable [] first(Headers headers, String name) {
		for (Header header : headers.headers(name)) {
			return header.value();
		}
		return null;
	}

	private static String key(String topic, int partition, long offset, long timestamp) {
		return topic + "-" + partition + "-" + offset + "@" + timestamp;
	}

}
