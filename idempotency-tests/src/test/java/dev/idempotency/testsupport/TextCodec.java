package dev.idempotency.testsupport;

import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;

import dev.idempotency.template.ResultCodec;

/**
 * Writes text as UTF-8.
 */
public final class TextCodec implements ResultCodec<String> {

	@Override
	public byte @Nullable [] write(@Nullable String result) {
		return (result != null) ? result.getBytes(StandardCharsets.UTF_8) : null;
	}

	@Override
	public String read(byte[] bytes) {
		return new String(bytes, StandardCharsets.UTF_8);
	}

}
