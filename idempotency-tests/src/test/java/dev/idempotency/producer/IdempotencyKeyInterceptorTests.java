/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;
import java.util.Map;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link IdempotencyKeyInterceptor}.
 */
class IdempotencyKeyInterceptorTests {

	private final IdempotencyKeyInterceptor<String, String> interceptor = new IdempotencyKeyInterceptor<>();

	private final ProducerRecord<String, String> record = new ProducerRecord<>("payments", "value");

	@Test
	void recordWithoutKeyIsStamped() {
		assertThat(this.interceptor.onSend(this.record)).isSameAs(this.record);
		assertThat(SentKeys.of(this.record.headers())).hasSize(36);
	}

	@Test
	void configuredHeaderIsUsed() {
		this.interceptor.configure(Map.of(IdempotencyKeyInterceptor.HEADER_CONFIG, "message-id"));
		this.interceptor.onSend(this.record);
		assertThat(this.record.headers().lastHeader("message-id")).isNotNull();
		assertThat(SentKeys.of(this.record.headers())).isNull();
	}

	@Test
	void blankHeaderIsRefused() {
		assertThatExceptionOfType(ConfigException.class)
			.isThrownBy(() -> this.interceptor.configure(Map.of(IdempotencyKeyInterceptor.HEADER_CONFIG, " ")))
			.withMessageContaining("idempotency.key.header: Set it to the name of a header");
	}

	@Test
	void cloudEventIsNotStamped() {
		header("ce_source").header("ce_id");
		assertThat(SentKeys.of(this.interceptor.onSend(this.record).headers())).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "ce_source", "ce_id", "ce_type" })
	void recordWithOnlyOneCloudEventHeaderIsStamped(String header) {
		header(header);
		assertThat(SentKeys.of(this.interceptor.onSend(this.record).headers())).hasSize(36);
	}

	private IdempotencyKeyInterceptorTests header(String name) {
		this.record.headers().add(name, "x".getBytes(StandardCharsets.UTF_8));
		return this;
	}

}
