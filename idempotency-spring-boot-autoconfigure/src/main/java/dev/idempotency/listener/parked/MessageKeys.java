package dev.idempotency.listener.parked;

import java.nio.ByteBuffer;

import org.jspecify.annotations.Nullable;

/**
 * Message keys that can be compared.
 */
final class MessageKeys {

	private MessageKeys() {
	}

	/**
	 * Return a message key that equals the key of another record with the same bytes.
	 */
	static @Nullable Object of(@Nullable Object key) {
		return (key instanceof byte[] bytes) ? ByteBuffer.wrap(bytes) : key;
	}

}
