package dev.idempotency.jackson;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.cfg.JsonNodeFeature;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.ResultCodec;
import dev.idempotency.Serialization;

/**
 * JSON, with the settings and modules of a given mapper but without its default typing:
 * stored bytes never choose the class that they are read into.
 *
 * @since 0.1.0
 */
public final class JacksonSerialization implements Serialization {

	private final JsonMapper mapper;

	private final JsonMapper canonical;

	/**
	 * Create a serialization.
	 * @param mapper the mapper to start from; it is not changed
	 */
	public JacksonSerialization(JsonMapper mapper) {
		this.mapper = mapper.rebuild().deactivateDefaultTyping().build();
		this.canonical = this.mapper.rebuild()
			.enable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
			.disable(MapperFeature.SORT_CREATOR_PROPERTIES_FIRST)
			.enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
			.enable(JsonNodeFeature.WRITE_PROPERTIES_SORTED)
			.disable(SerializationFeature.INDENT_OUTPUT)
			.build();
	}

	@Override
	public ResultCodec<Object> codec(Type type) {
		JavaType javaType = this.mapper.constructType(type);
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

	@Override
	public byte[] canonical(@Nullable Object value) {
		return this.canonical.writeValueAsBytes(value);
	}

}
