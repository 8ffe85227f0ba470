package dev.idempotency.schedules;

import java.nio.charset.StandardCharsets;

import dev.idempotency.template.ResultCodec;

/**
 * Stores the text that a handler returns.
 */
final class TextCodec implements ResultCodec<String> {

	@Override
	public byte[] write(String result) {
		return (result != null) ? result.getBytes(StandardCharsets.UTF_8) : null;
	}

	@Override
	public String read(byte[] bytes) {
		return new String(bytes, StandardCharsets.UTF_8);
	}

}
