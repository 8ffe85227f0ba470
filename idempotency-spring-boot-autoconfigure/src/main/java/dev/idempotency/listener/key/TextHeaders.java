package dev.idempotency.listener.key;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.jspecify.annotations.Nullable;

/**
 * Reads the headers of a record as text.
 */
final class TextHeaders {

	// Written by the outbox.
	private static final String FINGERPRINT = "Idempotency-Fingerprint";

	// Written by Debezium's outbox event router, with all headers of the outbox message.
	private static final String ALL = "idempotency-headers";

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
		return (text.indexOf(REPLACEMENT) < 0) ? text : decode(name, value);
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
