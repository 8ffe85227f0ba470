/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jackson;

import java.lang.reflect.Modifier;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TimeZone;
import java.util.function.BiConsumer;
import java.util.stream.BaseStream;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import org.jspecify.annotations.Nullable;
import org.springframework.util.ClassUtils;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.io.NumberOutput;
import tools.jackson.databind.BeanDescription;
import tools.jackson.databind.DatabindException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationConfig;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.cfg.ConfigOverride;
import tools.jackson.databind.cfg.DateTimeFeature;
import tools.jackson.databind.cfg.MapperConfig;
import tools.jackson.databind.introspect.Annotated;
import tools.jackson.databind.introspect.AnnotatedClass;
import tools.jackson.databind.introspect.NopAnnotationIntrospector;
import tools.jackson.databind.introspect.VisibilityChecker;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.jsontype.TypeSerializer;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.ValueSerializerModifier;
import tools.jackson.databind.ser.bean.BeanSerializerBase;
import tools.jackson.databind.ser.std.SimpleFilterProvider;
import tools.jackson.databind.ser.std.ToEmptyObjectSerializer;

/**
 * The canonical form of contents, from which fingerprints are computed. It is JSON that
 * depends neither on an order without meaning, such as that of a set, nor on the settings
 * that an application chooses for its own JSON. A null property equals an absent one; a
 * null element of a list is significant. Avro and Protobuf values have forms of their
 * own.
 */
final class CanonicalForm {

	// The version of the form. Increment it with any change of the bytes for
	// some content.
	static final int VERSION = 2;

	private static final String EARLIER_TREE = "com.fasterxml.jackson.databind.JsonNode";

	private static final JsonMapper TREES = JsonMapper.builder()
		.enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
		.build();

	private final JsonMapper mapper;

	CanonicalForm(JsonMapper application) {
		// The state of the mapper before its modules, which are registered again below.
		JsonMapper.Builder source = application.rebuild();
		SerializationConfig config = application.serializationConfig();
		JsonMapper.Builder builder = JsonMapper.builder()
			.annotationIntrospector(source.annotationIntrospector())
			.mixInHandler(source.mixInHandler().snapshot())
			.subtypeResolver(source.subtypeResolver().snapshot())
			.handlerInstantiator(source.baseSettings().getHandlerInstantiator())
			.accessorNaming(source.baseSettings().getAccessorNaming())
			.changeDefaultVisibility((visibility) -> config.getDefaultVisibilityChecker())
			.addModules(application.registeredModules())
			.enable(MapperFeature.SORT_PROPERTIES_ALPHABETICALLY)
			.disable(MapperFeature.SORT_CREATOR_PROPERTIES_FIRST)
			.enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
			.enable(SerializationFeature.FAIL_ON_ORDER_MAP_BY_INCOMPARABLE_KEY)
			.enable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
			.enable(SerializationFeature.FAIL_ON_SELF_REFERENCES)
			.disable(DateTimeFeature.TRUNCATE_TO_MSECS_ON_WRITE)
			// A field that a new version adds is absent from earlier records.
			.changeDefaultPropertyInclusion((inclusion) -> Properties.PRESENT)
			// A filter for a view of the JSON must not change the fingerprint.
			.filterProvider(new SimpleFilterProvider().setFailOnUnknownId(false))
			.defaultTimeZone(TimeZone.getTimeZone("UTC"))
			.defaultLocale(Locale.ROOT)
			.addModule(module(new Properties(config)));
		// Jackson does not treat the empty value of these types as absent.
		for (Class<?> type : List.of(OptionalInt.class, OptionalLong.class, OptionalDouble.class)) {
			builder.withConfigOverride(type, (settings) -> settings.setIncludeAsProperty(Properties.FILLED));
		}
		this.mapper = builder.build();
	}

	private SimpleModule module(Properties properties) {
		SimpleModule module = new SimpleModule("dev.idempotency") {

			@Override
			public void setupModule(SetupContext context) {
				super.setupModule(context);
				context.insertAnnotationIntrospector(properties);
			}

		};
		module.setSerializerModifier(new EmptyObjects());
		module.addSerializer(Set.class, new Form<>(this::writeSet));
		module.addSerializer(JsonNode.class, new Trees());
		module.addSerializer(BigDecimal.class, new Form<>(CanonicalForm::writeDecimal));
		module.addSerializer(Double.class, new Form<>(CanonicalForm::writeFloatingPoint));
		module.addSerializer(Double.TYPE, new Form<>(CanonicalForm::writeFloatingPoint));
		module.addSerializer(Float.class, new Form<>(CanonicalForm::writeFloatingPoint));
		module.addSerializer(Float.TYPE, new Form<>(CanonicalForm::writeFloatingPoint));
		module.addSerializer(ByteBuffer.class, new Form<>(CanonicalForm::writeBuffer));
		module.addSerializer(Iterator.class, new Form<>(CanonicalForm::refuse));
		module.addSerializer(BaseStream.class, new Form<>(CanonicalForm::refuse));
		// Texts of any class, such as those of Avro.
		module.addSerializer(CharSequence.class,
				new Form<>((text, generator) -> generator.writeString(text.toString())));
		ClassLoader loader = getClass().getClassLoader();
		addEarlierTree(module, loader);
		if (ClassUtils.isPresent("org.apache.avro.generic.GenericContainer", loader)) {
			AvroForm.addTo(module);
		}
		if (ClassUtils.isPresent("com.google.protobuf.MessageLite", loader)) {
			ProtobufForm.addTo(module);
		}
		return module;
	}

	// To this version of Jackson, a tree of the earlier one is an object whose properties
	// are the same for all trees. Its text is JSON.
	@SuppressWarnings("unchecked")
	private static void addEarlierTree(SimpleModule module, ClassLoader loader) {
		if (ClassUtils.isPresent(EARLIER_TREE, loader)) {
			Class<Object> type = (Class<Object>) ClassUtils.resolveClassName(EARLIER_TREE, loader);
			module.addSerializer(type, new ValueSerializer<>() {

				@Override
				public void serialize(Object tree, JsonGenerator generator, SerializationContext context) {
					context.writeValue(generator, TREES.readTree(tree.toString()));
				}

			});
		}
	}

	byte[] write(@Nullable Object value) {
		return this.mapper.writeValueAsBytes(value);
	}

	// The elements in the order of their JSON.
	private void writeSet(Object set, JsonGenerator generator) {
		generator.writeStartArray();
		((Set<?>) set).stream().map(this.mapper::writeValueAsString).sorted().forEach(generator::writeRawValue);
		generator.writeEndArray();
	}

	// Without trailing zeros: 1.50 as 1.5, and 100 as 1E+2. A plain number with a large
	// exponent would exhaust the memory.
	private static void writeDecimal(BigDecimal number, JsonGenerator generator) {
		generator.writeNumber(number.stripTrailingZeros().toString());
	}

	// The shortest decimal number that identifies a floating-point number. The text that
	// the JDK writes depends on its version.
	private static void writeFloatingPoint(Number number, JsonGenerator generator) {
		if (!Double.isFinite(number.doubleValue())) {
			generator.writeString(number.toString());
			return;
		}
		writeDecimal(new BigDecimal((number instanceof Float) ? NumberOutput.toString(number.floatValue(), true)
				: NumberOutput.toString(number.doubleValue(), true)), generator);
	}

	// The remaining bytes of a buffer of any kind, without consuming it.
	private static void writeBuffer(ByteBuffer buffer, JsonGenerator generator) {
		byte[] bytes = new byte[buffer.remaining()];
		buffer.duplicate().get(bytes);
		generator.writeBinary(bytes);
	}

	// The handler would find it empty.
	private static void refuse(Object value, JsonGenerator generator) {
		throw DatabindException.from(generator, "A " + value.getClass().getName() + " can be read only once");
	}

	/**
	 * Writes values with a function.
	 *
	 * @param <T> the type of the values
	 */
	private static final class Form<T> extends ValueSerializer<T> {

		private final BiConsumer<T, JsonGenerator> function;

		Form(BiConsumer<T, JsonGenerator> function) {
			this.function = function;
		}

		@Override
		public void serialize(T value, JsonGenerator generator, SerializationContext context) {
			this.function.accept(value, generator);
		}

	}

	/**
	 * Writes JSON trees without null properties.
	 */
	private static final class Trees extends ValueSerializer<JsonNode> {

		@Override
		public void serialize(JsonNode node, JsonGenerator generator, SerializationContext context) {
			if (node.isObject()) {
				generator.writeStartObject();
				node.propertyStream()
					.filter((property) -> !property.getValue().isNull())
					.sorted(Map.Entry.comparingByKey())
					.forEach((property) -> {
						generator.writeName(property.getKey());
						serialize(property.getValue(), generator, context);
					});
				generator.writeEndObject();
			}
			else if (node.isArray()) {
				generator.writeStartArray();
				node.forEach((element) -> serialize(element, generator, context));
				generator.writeEndArray();
			}
			else if (node.isFloatingPointNumber()) {
				context.writeValue(generator, node.numberValue());
			}
			else {
				node.serialize(generator, context);
			}
		}

	}

	/**
	 * Rejects objects without properties, because all of them would be equal. Jackson
	 * itself writes such objects if their class has a Jackson annotation.
	 */
	private static final class EmptyObjects extends ValueSerializerModifier {

		@Override
		public ValueSerializer<?> modifySerializer(SerializationConfig config, BeanDescription.Supplier description,
				ValueSerializer<?> serializer) {
			boolean empty = serializer instanceof ToEmptyObjectSerializer
					|| (serializer instanceof BeanSerializerBase bean && bean.propertyCount() == 0);
			return empty ? new EmptyObject(serializer, hasState(description.getBeanClass())) : serializer;
		}

		private static boolean hasState(Class<?> type) {
			for (Class<?> level = type; level != null; level = level.getSuperclass()) {
				if (Arrays.stream(level.getDeclaredFields())
					.anyMatch((field) -> !Modifier.isStatic(field.getModifiers()))) {
					return true;
				}
			}
			return false;
		}

	}

	/**
	 * Rejects an object of a class without properties. A class without fields that has a
	 * type id ({@code @JsonTypeInfo}) is accepted: the id is its content.
	 */
	private static final class EmptyObject extends ValueSerializer<Object> {

		private final ValueSerializer<Object> typed;

		private final boolean state;

		@SuppressWarnings("unchecked")
		EmptyObject(ValueSerializer<?> typed, boolean state) {
			this.typed = (ValueSerializer<Object>) typed;
			this.state = state;
		}

		@Override
		public void serialize(Object value, JsonGenerator generator, SerializationContext context) {
			context.reportBadDefinition(context.constructType(value.getClass()),
					"Jackson finds no properties in the class, so all its objects would be equal");
		}

		@Override
		public void serializeWithType(Object value, JsonGenerator generator, SerializationContext context,
				TypeSerializer type) {
			if (this.state) {
				serialize(value, generator, context);
			}
			this.typed.serializeWithType(value, generator, context, type);
		}

	}

	/**
	 * Selects the properties of an object by the configuration of the application, also
	 * for single classes, and excludes null properties. It has precedence over the
	 * annotations.
	 */
	private static final class Properties extends NopAnnotationIntrospector {

		static final JsonInclude.Value PRESENT = JsonInclude.Value.construct(JsonInclude.Include.NON_ABSENT,
				JsonInclude.Include.NON_ABSENT);

		static final JsonInclude.Value FILLED = JsonInclude.Value.construct(JsonInclude.Include.NON_EMPTY,
				JsonInclude.Include.NON_EMPTY);

		private final transient SerializationConfig application;

		Properties(SerializationConfig application) {
			this.application = application;
		}

		// An annotation may exclude more values.
		@Override
		public JsonInclude.Value findPropertyInclusion(MapperConfig<?> config, Annotated annotated) {
			JsonInclude.Value own = this.application.getAnnotationIntrospector()
				.findPropertyInclusion(this.application, annotated);
			return JsonInclude.Value.construct(present(own.getValueInclusion()), present(own.getContentInclusion()));
		}

		private static JsonInclude.Include present(JsonInclude.Include own) {
			return (own == JsonInclude.Include.ALWAYS || own == JsonInclude.Include.NON_NULL)
					? JsonInclude.Include.NON_ABSENT : JsonInclude.Include.USE_DEFAULTS;
		}

		@Override
		public VisibilityChecker findAutoDetectVisibility(MapperConfig<?> config, AnnotatedClass type,
				VisibilityChecker visibility) {
			return visibility.withOverrides(override(type).getVisibility());
		}

		@Override
		public JsonIgnoreProperties.Value findPropertyIgnoralByName(MapperConfig<?> config, Annotated annotated) {
			JsonIgnoreProperties.Value ignored = (annotated instanceof AnnotatedClass type)
					? override(type).getIgnorals() : null;
			return (ignored != null) ? ignored : JsonIgnoreProperties.Value.empty();
		}

		@Override
		public @Nullable Boolean isIgnorableType(MapperConfig<?> config, AnnotatedClass type) {
			return override(type).getIsIgnoredType();
		}

		private ConfigOverride override(AnnotatedClass type) {
			return this.application.getConfigOverride(type.getRawType());
		}

	}

}
