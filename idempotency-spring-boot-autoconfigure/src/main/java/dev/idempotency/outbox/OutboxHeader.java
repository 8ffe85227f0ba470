package dev.idempotency.outbox;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

import org.jspecify.annotations.Nullable;

/**
 * A header of a message.
 *
 * @param name name of the header
 * @param value value of the header
 * @since 0.1.0
 */
public record OutboxHeader(String name, byte @Nullable [] value) {

	/**
	 * Create a header with a text, encoded as UTF-8.
	 * @param name name of the header
	 * @param text the text
	 */
	public OutboxHeader(String name, String text) {
		this(name, text.getBytes(StandardCharsets.UTF_8));
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return other instanceof OutboxHeader header && this.name.equals(header.name)
				&& Arrays.equals(this.value, header.value);
	}

	@Override
	public int hashCode() {
		return 31 * this.name.hashCode() + Arrays.hashCode(this.value);
	}

	// The value may be confidential.
	@Override
	public String toString() {
		return this.name;
	}

}
