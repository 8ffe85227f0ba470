/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link RecordCoordinates}.
 */
@Tag("promise-10")
class RecordCoordinatesTests {

	private static final String RETRY = "kafka_original-";

	private static final String DEAD = "kafka_dlt-original-";

	private final RecordHeaders headers = new RecordHeaders();

	private final ConsumerRecord<String, String> record = new ConsumerRecord<>("topic", 1, 2, 3,
			TimestampType.CREATE_TIME, 0, 0, null, "value", this.headers, Optional.empty());

	@Test
	void ownCoordinatesIgnoreHeaders() {
		assertThat(original()).isNull();
		add(RETRY, "main", 4, 5, 6);
		assertThat(RecordCoordinates.key(this.record)).isEqualTo("topic-1-2@3");
	}

	@ParameterizedTest
	@ValueSource(strings = { RETRY, DEAD })
	void headersThatNameAnotherTopicAreIgnored(String family) {
		add(family, "other", 4, 5, 6);
		assertThat(original()).isNull();
		assertThat(RecordCoordinates.originalTopic(this.record, Set.of("main"))).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { RETRY, DEAD })
	void topicOfTheOriginalIsFound(String family) {
		add(family, "main", 4, 5, 6);
		assertThat(RecordCoordinates.originalTopic(this.record, Set.of("main", "second"))).isEqualTo("main");
	}

	@ParameterizedTest
	@ValueSource(strings = { RETRY, DEAD })
	void publishedRecordHasTheCoordinatesOfTheOriginal(String family) {
		add(family, "main", 4, 5, 6);
		assertThat(original()).isEqualTo("main-4-5@6");
	}

	@ParameterizedTest
	@ValueSource(strings = { RETRY, DEAD })
	void recordPublishedTwiceHasTheCoordinatesOfTheFirst(String family) {
		add(family, "main", 4, 5, 6);
		add(family, "main-dead", 7, 8, 9);
		assertThat(original()).isEqualTo("main-4-5@6");
	}

	@Test
	void headersOfRetryTopicsComeFirst() {
		add(DEAD, "main", 7, 8, 9);
		add(RETRY, "main", 4, 5, 6);
		assertThat(original()).isEqualTo("main-4-5@6");
	}

	@Test
	void incompleteHeadersAreIgnored() {
		add(RETRY, "main", 4, 5, 6);
		this.headers.remove(RETRY + "timestamp");
		assertThat(original()).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "partition", "offset", "timestamp" })
	void headersOfAnotherSizeAreIgnored(String name) {
		add(RETRY, "main", 4, 5, 6);
		this.headers.remove(RETRY + name).add(RETRY + name, "5".getBytes(StandardCharsets.UTF_8));
		assertThat(original()).isNull();
	}

	@Test
	void notedCoordinatesReplaceCopiedHeaders() {
		RecordCoordinates.note(this.record);
		assertThat(this.headers).isEmpty();
		add(RETRY, "topic", 4, 5, 6);
		RecordCoordinates.note(this.record);
		assertThat(RecordCoordinates.original(this.record, Set.of("topic"))).isEqualTo("topic-1-2@3");
		this.headers.remove("idempotency-coordinates")
			.add("idempotency-coordinates", "topic-9-9@9".getBytes(StandardCharsets.UTF_8));
		RecordCoordinates.note(this.record);
		assertThat(this.headers.headers("idempotency-coordinates")).hasSize(1);
		assertThat(RecordCoordinates.original(this.record, Set.of("topic"))).isEqualTo("topic-1-2@3");
	}

	@ParameterizedTest
	@ValueSource(strings = { "other-1-2@3", "main-\u0000" })
	void unusableNotedCoordinatesAreIgnored(String text) {
		add(RETRY, "main", 4, 5, 6);
		this.headers.add("idempotency-coordinates", text.getBytes(StandardCharsets.UTF_8));
		assertThat(original()).isEqualTo("main-4-5@6");
	}

	private String original() {
		return RecordCoordinates.original(this.record, Set.of("main"));
	}

	private void add(String family, String topic, int partition, long offset, long timestamp) {
		this.headers.add(family + "topic", topic.getBytes(StandardCharsets.UTF_8))
			.add(family + "partition", ByteBuffer.allocate(Integer.BYTES).putInt(partition).array())
			.add(family + "offset", ByteBuffer.allocate(Long.BYTES).putLong(offset).array())
			.add(family + "timestamp", ByteBuffer.allocate(Long.BYTES).putLong(timestamp).array());
	}

}
