package dev.idempotency.redis;

import java.nio.charset.StandardCharsets;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Failure;

/**
 * What a record ends with: nothing, a result or a failure. The first byte says which, so
 * that no result and an empty one differ.
 */
final class Outcome {

	private static final byte[] NONE = { '-' };

	private static final byte RESULT = 'R';

	private static final byte FAILURE = 'E';

	// No failure has one.
	private static final char SEPARATOR = 0;

	private Outcome() {
	}

	static byte[] none() {
		return NONE;
	}

	static byte[] of(byte @Nullable [] result) {
		return (result != null) ? tagged(RESULT, result) : NONE;
	}

	static byte[] of(Failure failure) {
		String text = (failure.message() != null) ? failure.type() + SEPARATOR + failure.message() : failure.type();
		return tagged(FAILURE, text.getBytes(StandardCharsets.UTF_8));
	}

	static byte @Nullable [] result(byte[] outcome) {
		return (outcome[0] == RESULT) ? untagged(outcome) : null;
	}

	static @Nullable Failure failure(byte[] outcome) {
		if (outcome[0] != FAILURE) {
			return null;
		}
		String text = new String(untagged(outcome), StandardCharsets.UTF_8);
		int end = text.indexOf(SEPARATOR);
		return (end < 0) ? new Failure(text, null) : new Failure(text.substring(0, end), text.substring(end + 1));
	}

	private static byte[] tagged(byte tag, byte[] content) {
		byte[] outcome = new byte[content.length + 1];
		outcome[0] = tag;
		System.arraycopy(content, 0, outcome, 1, content.length);
		return outcome;
	}

	private static byte[] untagged(byte[] outcome) {
		byte[] content = new byte[outcome.length - 1];
		System.arraycopy(outcome, 1, content, 0, content.length);
		return content;
	}

}
