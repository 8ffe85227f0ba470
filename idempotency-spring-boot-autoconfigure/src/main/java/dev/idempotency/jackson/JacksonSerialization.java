package dev.idempotency.jackson;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.exc.InvalidDefinitionException;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;

/**
 * JSON, with the settings and modules of a given mapper but without its default typing:
 * stored bytes never choose the class that they are read into. Fingerprints are computed
 * from a canonical form that the settings of the mapper do not change; values of Avro and
 * Protobuf have one too.
 *
 * @since 0.1.0
 */
public final class JacksonSerialization implements Serialization {

	private final JsonMapper mapper;

	private final CanonicalForm canonical;

	/**
	 * Create a serialization.
	 * @param mapper the mapper to start from; it is not changed
	 */
	public JacksonSerialization(JsonMapper mapper) {
		this.mapper = mapper.rebuild().deactivateDefaultTyping().build();
		this.canonical = new CanonicalForm(this.mapper);
	}

	@Override
	public ResultCodec<Object> codec(Type type) {
		JavaType javaType = this.mapper.constructType(type);
		requireReadable(javaType);
		return new ResultCodec<>() {

			@Override
			public byte @Nullable [] write(@Nullable Object result) {
				return (result != null) ? JacksonSerialization.this.mapper.writerFor(javaType).writeValueAsBytes(result)
						: null;
			}

			@Override
			public @Nullable Object read(byte[] bytes) {
				try {
					return JacksonSerialization.this.mapper.readerFor(javaType).readValue(bytes);
				}
				catch (InvalidDefinitionException ex) {
					throw new IdempotencyConfigurationException(ex.getOriginalMessage() + ".",
							"Change the result type so that it can be read back.");
				}
			}

		};
	}

	// Reads an empty object: the definition of the type is at fault only if Jackson says
	// so.
	private void requireReadable(JavaType type) {
		try {
			this.mapper.readerFor(type).readValue("{}");
		}
		catch (InvalidDefinitionException ex) {
			throw new IllegalArgumentException(ex.getOriginalMessage(), ex);
		}
		catch (RuntimeException ex) {
			// The type is not written as an object, or needs its properties.
		}
	}

	@Override
	public byte[] canonical(@Nullable Object value) {
		return this.canonical.write(value);
	}

	@Override
	public int canonicalVersion() {
		return CanonicalForm.VERSION;
	}

}
