package dev.idempotency.template;

import org.jspecify.annotations.Nullable;

import dev.idempotency.IdempotencyConfigurationException;

/**
 * How the result of a handler is kept and read again.
 *
 * @param <T> the type of the result
 * @since 0.1.0
 */
public interface ResultCodec<T> {

	/**
	 * Write a result.
	 * @param result the result
	 * @return its bytes, {@code null} if there is nothing to keep
	 */
	byte @Nullable [] write(@Nullable T result);

	/**
	 * Read a result into the declared type; never into a type that the bytes name. The
	 * first results of a listener are read right after they were written, to report those
	 * that cannot be read before there is a duplicate.
	 * @param bytes what {@link #write} returned
	 * @return the result
	 * @throws IdempotencyConfigurationException if the type cannot be read whatever the
	 * bytes are; its message, unlike that of any other exception, is shown and must not
	 * quote the bytes
	 */
	@Nullable T read(byte[] bytes);

	/**
	 * A codec for handlers without a result.
	 * @param <T> the type of the result
	 * @return a codec that keeps nothing
	 */
	static <T> ResultCodec<T> none() {
		return new ResultCodec<>() {

			@Override
			public byte @Nullable [] write(@Nullable T result) {
				return null;
			}

			@Override
			public @Nullable T read(byte[] bytes) {
				return null;
			}

		};
	}

}
