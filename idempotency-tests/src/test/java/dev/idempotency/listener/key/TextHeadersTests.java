/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.UUID;

import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.kafka.support.JsonKafkaHeaderMapper;
import org.springframework.messaging.MessageHeaders;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link TextHeaders}.
 */
@Tag("promise-10")
class TextHeadersTests {

	private final Headers headers = new RecordHeaders();

	@Test
	void headerIsReadAsUtf8() {
		this.headers.add("key", "ключ".getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo("ключ");
	}

	@Test
	void missingHeaderHasNoText() {
		assertThat(text()).isNull();
	}

	@Test
	void headerWithoutValueHasNoText() {
		this.headers.add("key", null);
		assertThat(text()).isNull();
	}

	@Test
	void bytesThatAreNotUtf8AreUnusable() {
		this.headers.add("key", new byte[] { (byte) 0xC3, (byte) 0x28 });
		assertThatExceptionOfType(UnusableKeyException.class).isThrownBy(this::text)
			.withMessage("the header 'key' is not UTF-8 text");
	}

	@Test
	void replacementCharacterThatTheProducerSentIsText() {
		this.headers.add("key", "a\uFFFD".getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo("a\uFFFD");
	}

	@Test
	void headerThatIsRepeatedWithTheSameValueIsThatValue() {
		this.headers.add("key", "a".getBytes(StandardCharsets.UTF_8)).add("key", "a".getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo("a");
	}

	@Test
	void headerThatIsRepeatedWithAnotherValueIsUnusable() {
		this.headers.add("key", "a".getBytes(StandardCharsets.UTF_8)).add("key", "b".getBytes(StandardCharsets.UTF_8));
		assertThatExceptionOfType(UnusableKeyException.class).isThrownBy(this::text)
			.withMessage("the header 'key' is repeated with different values");
	}

	// Producers with Spring Kafka and with Spring Cloud Stream write such headers.
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void valueThatSpringWritesAsJsonIsThatOfAPlainProducer(boolean encodeStrings) {
		UUID uuid = UUID.randomUUID();
		JsonKafkaHeaderMapper mapper = new JsonKafkaHeaderMapper();
		mapper.setEncodeStrings(encodeStrings);
		mapper.fromHeaders(new MessageHeaders(Map.of("key", uuid, "text", "pay \"ä\" 1", "number", 5L)), this.headers);
		assertThat(this.headers.lastHeader("key").value()).startsWith((byte) '"');
		assertThat(text()).isEqualTo(uuid.toString());
		assertThat(TextHeaders.asMap(this.headers)).containsEntry("key", uuid.toString())
			.containsEntry("text", "pay \"ä\" 1")
			.containsEntry("number", "5");
	}

	@ParameterizedTest
	@ValueSource(strings = { "{\"other\":\"java.lang.String\"}", "{\"key\":", "[]", "" })
	void quotesThatNoTypeDeclaresAreText(String types) {
		this.headers.add("key", "\"a\"".getBytes(StandardCharsets.UTF_8))
			.add("spring_json_header_types", types.getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo("\"a\"");
	}

	@ParameterizedTest
	@ValueSource(strings = { "\"a", "\"a\",\"b\"", "\"a\"]" })
	void textThatIsNoJsonIsText(String value) {
		this.headers.add("key", value.getBytes(StandardCharsets.UTF_8))
			.add("spring_json_header_types", "{\"key\":\"java.lang.String\"}".getBytes(StandardCharsets.UTF_8));
		assertThat(text()).isEqualTo(value);
	}

	@Test
	void mapLeavesOutHeadersWithoutValue() {
		this.headers.add("key", "a".getBytes(StandardCharsets.UTF_8)).add("empty", null);
		assertThat(TextHeaders.asMap(this.headers)).containsOnlyKeys("key");
	}

	private String text() {
		return TextHeaders.text(this.headers, "key");
	}

}
