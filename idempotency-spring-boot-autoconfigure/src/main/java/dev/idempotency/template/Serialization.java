package dev.idempotency.template;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;

/**
 * How results are kept and contents are compared.
 *
 * @since 0.1.0
 */
public interface Serialization {

	/**
	 * A codec for a declared type.
	 * @param type the type, with its generics
	 * @return the codec
	 * @throws IllegalArgumentException if results of the type could be written but not
	 * read back; the message gives the reason, and the listener does not start
	 */
	ResultCodec<Object> codec(Type type);

	/**
	 * Write a value so that equal contents give equal bytes, whatever the order of
	 * properties, map entries and the elements of a set.
	 * @param value the value
	 * @return its bytes
	 * @throws RuntimeException if the content of the value cannot be written completely;
	 * the record is rejected then
	 */
	byte[] canonical(@Nullable Object value);

	/**
	 * The version of the {@linkplain #canonical canonical form}. An implementation that
	 * writes any content in another way than before needs another version: fingerprints
	 * of different versions are not compared.
	 * @return the version, 0 to 127
	 */
	default int canonicalVersion() {
		return 0;
	}

}
