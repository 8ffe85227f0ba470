/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.json.JsonParseException;
import org.springframework.boot.json.JsonParser;
import org.springframework.boot.json.JsonParserFactory;

/**
 * Reads the headers of a record as text.
 */
final class TextHeaders {

	// Written by the outbox.
	private static final String FINGERPRINT = "Idempotency-Fingerprint";

	// Written by Debezium's outbox event router, with all headers of the outbox message.
	private static final String ALL = "idempotency-headers";

	// Names the headers that Spring wrote as JSON: values that are no text, and texts of
	// a producer that encodes them.
	private static final String JSON_TYPES = "spring_json_header_types";

	private static final JsonParser JSON = JsonParserFactory.getJsonParser();

	private static final char REPLACEMENT = '\uFFFD';

	private TextHeaders() {
	}

	static @Nullable String text(Headers headers, String name) {
		byte[] value = null;
		for (Header header : headers.headers(name)) {
			if (value != null && !Arrays.equals(value, header.value())) {
				throw new UnusableKeyException("the header '" + name + "' is repeated with different values", null);
			}
			value = header.value();
		}
		if (value == null) {
			return null;
		}
		String text = new String(value, StandardCharsets.UTF_8);
		if (text.indexOf(REPLACEMENT) >= 0) {
			text = decode(name, value);
		}
		return text.startsWith("\"") ? unquote(headers, name, text) : text;
	}

	// The listener sees the value without its quotes.
	private static String unquote(Headers headers, String name, String text) {
		Header types = headers.lastHeader(JSON_TYPES);
		if (types == null || types.value() == null) {
			return text;
		}
		try {
			List<Object> values = JSON.parseMap(new String(types.value(), StandardCharsets.UTF_8)).containsKey(name)
					? JSON.parseList("[" + text + "]") : List.of();
			return (values.size() == 1) ? String.valueOf(values.get(0)) : text;
		}
		catch (JsonParseException ex) {
			return text;
		}
	}

	// The replacement character stands for malformed bytes, or is part of the text.
	private static String decode(String name, byte[] value) {
		try {
			return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(value)).toString();
		}
		catch (CharacterCodingException ex) {
			throw new UnusableKeyException("the header '" + name + "' is not UTF-8 text", ex);
		}
	}

	static byte @Nullable [] fingerprint(Headers headers) {
		Header own = headers.lastHeader(FINGERPRINT);
		if (own != null) {
			return own.value();
		}
		Header all = headers.lastHeader(ALL);
		if (all == null || all.value() == null) {
			return null;
		}
		for (String header : new String(all.value(), StandardCharsets.UTF_8).split("&")) {
			if (header.startsWith(FINGERPRINT + "=")) {
				return header.substring(FINGERPRINT.length() + 1).getBytes(StandardCharsets.UTF_8);
			}
		}
		return null;
	}

	// All headers as text, without those that text rejects: their text would not
	// identify the record.
	static Map<String, String> asMap(Headers headers) {
		Map<String, String> map = new HashMap<>();
		for (Header header : headers) {
			try {
				String text = text(headers, header.key());
				if (text != null) {
					map.put(header.key(), text);
				}
			}
			catch (UnusableKeyException ex) {
				map.remove(header.key());
			}
		}
		return map;
	}

}
