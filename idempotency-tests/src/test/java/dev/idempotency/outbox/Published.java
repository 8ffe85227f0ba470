/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.jspecify.annotations.Nullable;

import dev.idempotency.testsupport.Servers;

/**
 * A published record, compared byte by byte. Each byte is a character of a text.
 *
 * @param key its key
 * @param value its value
 * @param headers its headers, in their order
 */
record Published(@Nullable String key, @Nullable String value, List<OutboxMessage.Header> headers) {

	/**
	 * The header in which the router puts the application's headers.
	 */
	static final String HEADERS = "idempotency-headers";

	/**
	 * All records of a topic with one partition.
	 * @param topic the topic
	 * @return the records
	 */
	static List<Published> read(String topic) {
		TopicPartition partition = new TopicPartition(topic, 0);
		List<Published> records = new ArrayList<>();
		try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
				Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()), new ByteArrayDeserializer(),
				new ByteArrayDeserializer())) {
			consumer.assign(List.of(partition));
			consumer.seekToBeginning(List.of(partition));
			long end = consumer.endOffsets(List.of(partition)).get(partition);
			while (consumer.position(partition) < end) {
				consumer.poll(Duration.ofMillis(100)).forEach((record) -> records.add(of(record)));
			}
		}
		return records;
	}

	private static Published of(ConsumerRecord<byte[], byte[]> record) {
		return new Published(text(record.key()), text(record.value()),
				Arrays.stream(record.headers().toArray())
					.map((header) -> new OutboxMessage.Header(header.key(), header.value()))
					.toList());
	}

	static @Nullable String text(byte @Nullable [] bytes) {
		return (bytes != null) ? new String(bytes, StandardCharsets.ISO_8859_1) : null;
	}

	@Nullable String header(String name) {
		List<String> values = new ArrayList<>();
		this.headers.stream()
			.filter((header) -> header.name().equals(name))
			.forEach((header) -> values.add(text(header.value())));
		return (values.size() == 1) ? values.get(0) : String.valueOf(values);
	}

	String idempotencyKey() {
		return String.valueOf(header(OutboxRow.KEY_HEADER));
	}

	/**
	 * The parts that a consumer sees, with the application's headers one by one and
	 * without the time header.
	 * @return a list to compare
	 */
	List<Object> content() {
		return Arrays.asList(this.key, this.value, idempotencyKey(),
				this.headers.stream()
					.flatMap(Published::application)
					.filter((header) -> !header.name().equals(OutboxRow.TIME_HEADER))
					.toList());
	}

	private static Stream<OutboxMessage.Header> application(OutboxMessage.Header header) {
		return switch (header.name()) {
			case OutboxRow.ID_HEADER, OutboxRow.KEY_HEADER -> Stream.empty();
			case HEADERS -> (header.value() != null)
					? Arrays.stream(new String(header.value(), StandardCharsets.UTF_8).split("&")).map(Published::part)
					: Stream.empty();
			default -> Stream.of(header);
		};
	}

	private static OutboxMessage.Header part(String text) {
		String[] parts = text.split("=", 2);
		byte[] value = (parts.length == 2)
				? URLDecoder.decode(parts[1], StandardCharsets.ISO_8859_1).getBytes(StandardCharsets.ISO_8859_1) : null;
		return new OutboxMessage.Header(URLDecoder.decode(parts[0], StandardCharsets.UTF_8), value);
	}

}
