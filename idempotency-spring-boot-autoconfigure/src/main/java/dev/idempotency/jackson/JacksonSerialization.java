package dev.idempotency.jackson;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.deser.AbstractDeserializer;
import tools.jackson.databind.deser.bean.BeanDeserializerBase;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.ResultCodec;
import dev.idempotency.Serialization;

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
				return JacksonSerialization.this.mapper.readerFor(javaType).readValue(bytes);
			}

		};
	}

	// What cannot be created would be found out by the first duplicate.
	private void requireReadable(JavaType type) {
		String problem = null;
		try {
			ValueDeserializer<Object> deserializer = this.mapper._deserializationContext()
				.findRootValueDeserializer(type);
			if (deserializer instanceof AbstractDeserializer) {
				problem = "it is abstract, and nothing says which class to create";
			}
			else if (deserializer instanceof BeanDeserializerBase bean
					&& !bean.getValueInstantiator().canInstantiate()) {
				problem = "it has no constructor or factory method that Jackson can use";
			}
		}
		catch (JacksonException ex) {
			problem = ex.getOriginalMessage();
		}
		if (problem != null) {
			throw new IdempotencyConfigurationException(
					"The result type " + type.toCanonical() + " can be stored but not read back: " + problem + ".",
					"Return a class or record that Jackson can read, describe the type with @JsonTypeInfo or @JsonCreator, "
							+ "or declare a Serialization bean.");
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
