package dev.idempotency;

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
	 */
	ResultCodec<Object> codec(Type type);

	/**
	 * Write a value so that equal contents give equal bytes, whatever the order of
	 * properties and map entries.
	 * @param value the value
	 * @return its bytes
	 */
	byte[] canonical(@Nullable Object value);

}
