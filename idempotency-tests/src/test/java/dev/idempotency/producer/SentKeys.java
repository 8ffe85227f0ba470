/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.common.header.Headers;

import dev.idempotency.testsupport.Kafka;

/**
 * Reads the idempotency keys of records.
 */
final class SentKeys {

	private SentKeys() {
	}

	// Null without the header; all values, joined, if the header is repeated.
	static String of(Headers headers) {
		List<String> texts = new ArrayList<>();
		headers.headers(Kafka.KEY_HEADER)
			.forEach((header) -> texts.add(new String(header.value(), StandardCharsets.UTF_8)));
		return texts.isEmpty() ? null : String.join("+", texts);
	}

	static List<String> on(String topic) {
		return Kafka.read(topic).stream().map((record) -> of(record.headers())).toList();
	}

}
