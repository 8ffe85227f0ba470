package dev.idempotency.jackson;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Set;
import java.util.TimeZone;

import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.cfg.DateTimeFeature;
import tools.jackson.databind.cfg.EnumFeature;
import tools.jackson.databind.cfg.JsonNodeFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;

/**
 * The form in which contents are compared: JSON in which nothing depends on an order that
 * has no meaning, nor on the settings that an application changes for its own JSON. Avro
 * and Protobuf values, which have no properties, are written in forms of their own.
 */
final class CanonicalForm {

	/**
	 * The version of the form. Any change of the bytes that it yields for some content
	 * needs another version.
	 */
	static final int VERSION = 1;

	private final JsonMapper mapper;

	CanonicalForm(JsonMapper mapper) {
		this.mapper = mapper.rebuild()
			.enable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
			.disable(MapperFeature.SORT_CREATOR_PROPERTIES_FIRST)
			.enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
			.enable(SerializationFeature.FAIL_ON_ORDER_MAP_BY_INCOMPARABLE_KEY)
			// All objects that have no properties would be equal.
			.enable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
			.enable(SerializationFeature.FAIL_ON_SELF_REFERENCES)
			.enable(JsonNodeFeature.WRITE_PROPERTIES_SORTED)
			.disable(SerializationFeature.INDENT_OUTPUT)
			.disable(SerializationFeature.WRAP_ROOT_VALUE)
			.disable(DateTimeFeature.WRITE_DATES_AS_TIMESTAMPS, DateTimeFeature.WRITE_DURATIONS_AS_TIMESTAMPS,
					DateTimeFeature.TRUNCATE_TO_MSECS_ON_WRITE)
			.disable(EnumFeature.WRITE_ENUMS_USING_INDEX, EnumFeature.WRITE_ENUMS_USING_TO_STRING,
					EnumFeature.WRITE_ENUMS_TO_LOWERCASE)
			.propertyNamingStrategy(null)
			.changeDefaultPropertyInclusion((inclusion) -> JsonInclude.Value.empty())
			.defaultTimeZone(TimeZone.getTimeZone("UTC"))
			.addModule(module())
			.build();
	}

	private SimpleModule module() {
		SimpleModule module = new SimpleModule("dev.idempotency");
		module.addSerializer(Set.class, new Sets());
		module.addSerializer(BigDecimal.class, new Decimals());
		module.addSerializer(ByteBuffer.class, new Buffers());
		module.addSerializer(CharSequence.class, new Texts());
		ClassLoader loader = getClass().getClassLoader();
		if (ClassUtils.isPresent("org.apache.avro.generic.GenericContainer", loader)) {
			AvroForm.addTo(module);
		}
		if (ClassUtils.isPresent("com.google.protobuf.MessageLite", loader)) {
			ProtobufForm.addTo(module);
		}
		return module;
	}

	byte[] write(@Nullable Object value) {
		return this.mapper.writeValueAsBytes(value);
	}

	/**
	 * Elements of a set, ordered by their text: their own order is that of their hash
	 * codes.
	 */
	private final class Sets extends ValueSerializer<Object> {

		@Override
		public void serialize(Object set, JsonGenerator generator, SerializationContext context) {
			generator.writeStartArray();
			((Set<?>) set).stream()
				.map(CanonicalForm.this.mapper::writeValueAsString)
				.sorted()
				.forEach(generator::writeRawValue);
			generator.writeEndArray();
		}

	}

	/**
	 * 1.50 is 1.5, and 100 is 1E+2. The plain text of a number with a large exponent
	 * would fill the memory.
	 */
	private static final class Decimals extends ValueSerializer<BigDecimal> {

		@Override
		public void serialize(BigDecimal number, JsonGenerator generator, SerializationContext context) {
			generator.writeNumber(number.stripTrailingZeros().toString());
		}

	}

	/**
	 * The bytes that remain, whatever kind of buffer holds them. The buffer is not
	 * consumed.
	 */
	private static final class Buffers extends ValueSerializer<ByteBuffer> {

		@Override
		public void serialize(ByteBuffer buffer, JsonGenerator generator, SerializationContext context) {
			byte[] bytes = new byte[buffer.remaining()];
			buffer.duplicate().get(bytes);
			generator.writeBinary(bytes);
		}

	}

	/**
	 * Texts of any class, as those of Avro.
	 */
	private static final class Texts extends ValueSerializer<CharSequence> {

		@Override
		public void serialize(CharSequence text, JsonGenerator generator, SerializationContext context) {
			generator.writeString(text.toString());
		}

	}

}
