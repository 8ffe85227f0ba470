package dev.idempotency.listener;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;

import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;

/**
 * For listeners that have nothing to serialize.
 */
final class NoSerialization implements Serialization {

	@Override
	public ResultCodec<Object> codec(Type type) {
		throw new UnsupportedOperationException();
	}

	@Override
	public byte[] canonical(@Nullable Object value) {
		throw new UnsupportedOperationException();
	}

}
