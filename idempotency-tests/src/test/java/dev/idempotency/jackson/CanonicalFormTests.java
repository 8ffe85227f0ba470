/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jackson;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.text.SimpleDateFormat;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Date;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Set;
import java.util.TimeZone;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import com.fasterxml.jackson.annotation.JsonCreator;
import com.fasterxml.jackson.annotation.JsonFilter;
import com.fasterxml.jackson.annotation.JsonFormat;
import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonSubTypes;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.PropertyAccessor;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.ByteString;
import com.google.protobuf.BytesValue;
import com.google.protobuf.StringValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.specific.SpecificRecordBase;
import org.apache.avro.util.Utf8;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.core.OverridingClassLoader;
import tools.jackson.core.Base64Variants;
import tools.jackson.core.JacksonException;
import tools.jackson.core.StreamWriteFeature;
import tools.jackson.core.json.JsonWriteFeature;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.EnumNamingStrategies;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.annotation.JsonDeserialize;
import tools.jackson.databind.annotation.JsonPOJOBuilder;
import tools.jackson.databind.cfg.DateTimeFeature;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;
import tools.jackson.databind.ser.std.SimpleBeanPropertyFilter;
import tools.jackson.databind.ser.std.SimpleFilterProvider;
import tools.jackson.databind.ser.std.ToStringSerializer;

import dev.idempotency.template.Serialization;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link CanonicalForm}: equal contents have equal bytes, different contents
 * have different bytes.
 */
@Tag("promise-9")
class CanonicalFormTests {

	private static final Schema PAYMENT = SchemaBuilder.record("Payment")
		.namespace("payments")
		.fields()
		.requiredString("id")
		.requiredDouble("amount")
		.name("tags")
		.type()
		.map()
		.values()
		.stringType()
		.noDefault()
		.optionalBytes("data")
		.endRecord();

	private final JacksonSerialization serialization = new JacksonSerialization(JsonMapper.builder().build());

	private String canonical(Object value) {
		return new String(this.serialization.canonical(value), StandardCharsets.UTF_8);
	}

	private static GenericRecord payment(String id, double amount, Map<String, String> tags) {
		return new GenericRecordBuilder(PAYMENT).set("id", id)
			.set("amount", amount)
			.set("tags", tags)
			.set("data", ByteBuffer.wrap(new byte[] { 1, 2 }))
			.build();
	}

	// "Aa" and "BB" have the same hash code, so a hash map keeps their insertion order.
	private static <V> Map<String, V> entries(V first, V second, boolean reversed) {
		Map<String, V> map = new LinkedHashMap<>();
		map.put(reversed ? "BB" : "Aa", reversed ? second : first);
		map.put(reversed ? "Aa" : "BB", reversed ? first : second);
		return map;
	}

	@Test
	void orderOfAMapInAnAvroRecordHasNoEffect() {
		GenericRecord first = payment("p-1", 10, entries("a", "b", false));
		GenericRecord second = payment("p-1", 10, entries("a", "b", true));
		assertThat(canonical(first)).isEqualTo(canonical(second))
			.contains("payments.Payment")
			.isNotEqualTo(canonical(payment("p-1", 11, entries("a", "b", false))))
			.isNotEqualTo(canonical(payment("p-1", 10, entries("b", "a", false))));
	}

	@Test
	void avroTextsOfBothClassesHaveEqualForms() {
		GenericRecord text = payment("p-1", 10, Map.of("a", "b"));
		GenericRecord utf8 = new GenericRecordBuilder(PAYMENT).set("id", new Utf8("p-1"))
			.set("amount", 10.0)
			.set("tags", Map.of(new Utf8("a"), new Utf8("b")))
			.set("data", ByteBuffer.wrap(new byte[] { 1, 2 }))
			.build();
		assertThat(canonical(text)).isEqualTo(canonical(utf8));
		assertThat(canonical(new Utf8("p-1"))).isEqualTo(canonical("p-1"));
	}

	@Test
	void avroRecordsOfTwoSchemasHaveDifferentForms() {
		Schema refund = SchemaBuilder.record("Refund").namespace("payments").fields().requiredString("id").endRecord();
		Schema charge = SchemaBuilder.record("Charge").namespace("payments").fields().requiredString("id").endRecord();
		assertThat(canonical(new GenericRecordBuilder(refund).set("id", "1").build()))
			.isNotEqualTo(canonical(new GenericRecordBuilder(charge).set("id", "1").build()));
	}

	@Test
	void orderOfTheFieldsOfAnAvroSchemaHasNoEffect() {
		Schema first = SchemaBuilder.record("R").fields().requiredString("a").requiredString("b").endRecord();
		Schema second = SchemaBuilder.record("R").fields().requiredString("b").requiredString("a").endRecord();
		assertThat(canonical(new GenericRecordBuilder(first).set("a", "1").set("b", "2").build()))
			.isEqualTo(canonical(new GenericRecordBuilder(second).set("a", "1").set("b", "2").build()));
	}

	@Test
	void avroValuesOfLogicalTypesAreAcceptedAsObjectsAndAsNumbers() {
		Schema schema = SchemaBuilder.record("R")
			.fields()
			.name("at")
			.type(LogicalTypes.timestampMillis().addToSchema(Schema.create(Schema.Type.LONG)))
			.noDefault()
			.endRecord();
		GenericRecord object = new GenericData.Record(schema);
		object.put("at", Instant.ofEpochMilli(5));
		GenericRecord number = new GenericData.Record(schema);
		number.put("at", 5L);
		assertThat(canonical(object)).isEqualTo(canonical(number)).contains("5");
	}

	@Test
	void generatedAvroClassAndGenericRecordHaveEqualForms() {
		GenericRecord generic = new GenericRecordBuilder(Order.SCHEMA$).set("id", "o-1").build();
		assertThat(canonical(new Order("o-1"))).isEqualTo(canonical(generic)).isNotEqualTo(canonical(new Order("o-2")));
	}

	@Test
	void avroValuesMayBeNestedInOtherValues() {
		assertThat(canonical(List.of(new Order("o-1"), "x"))).isNotEqualTo(canonical(List.of(new Order("o-2"), "x")));
		assertThat(canonical(Map.of("order", new Order("o-1")))).contains("o-1");
	}

	@Test
	void orderOfAMapInAProtobufMessageHasNoEffect() {
		Value one = Value.newBuilder().setNumberValue(1).build();
		Value two = Value.newBuilder().setNumberValue(2).build();
		Struct first = Struct.newBuilder().putAllFields(entries(one, two, false)).build();
		Struct second = Struct.newBuilder().putAllFields(entries(one, two, true)).build();
		assertThat(first.toByteArray()).isNotEqualTo(second.toByteArray());
		assertThat(canonical(first)).isEqualTo(canonical(second))
			.isNotEqualTo(canonical(Struct.newBuilder().putAllFields(entries(two, one, false)).build()));
	}

	@Test
	void protobufMessagesOfTwoTypesWithTheSameBytesHaveDifferentForms() {
		StringValue text = StringValue.of("a");
		BytesValue bytes = BytesValue.of(ByteString.copyFromUtf8("a"));
		assertThat(text.toByteArray()).isEqualTo(bytes.toByteArray());
		assertThat(canonical(text)).isNotEqualTo(canonical(bytes));
	}

	@Test
	void bytesHaveEqualFormsInAnArrayAndInABuffer() {
		byte[] bytes = { 1, 2, 3 };
		ByteBuffer direct = ByteBuffer.allocateDirect(5).put(new byte[] { 0, 1, 2, 3, 0 }).position(1).limit(4);
		ByteBuffer slice = ByteBuffer.wrap(new byte[] { 0, 1, 2, 3, 0 }, 1, 3);
		assertThat(canonical(bytes)).isEqualTo(canonical(direct))
			.isEqualTo(canonical(slice))
			.isEqualTo(canonical(slice.asReadOnlyBuffer()))
			.isNotEqualTo(canonical(new byte[] { 1, 2, 4 }));
		assertThat(direct.remaining()).isEqualTo(3);
		GenericRecord avro = payment("p-1", 1, Map.of());
		canonical(avro);
		assertThat(((ByteBuffer) avro.get("data")).remaining()).isEqualTo(2);
	}

	@Test
	void orderOfASetHasNoEffectButThatOfAListHas() {
		assertThat(canonical(new LinkedHashSet<>(List.of("b", "a", "c"))))
			.isEqualTo(canonical(new LinkedHashSet<>(List.of("c", "b", "a"))))
			.isEqualTo("[\"a\",\"b\",\"c\"]");
		assertThat(canonical(
				new Holder(new LinkedHashSet<>(List.of(new Amount(new BigDecimal("2")), new Amount(BigDecimal.ONE))))))
			.isEqualTo("{\"amounts\":[{\"value\":1},{\"value\":2}]}");
		assertThat(canonical(EnumSet.of(TimeUnit.SECONDS, TimeUnit.HOURS))).isEqualTo("[\"HOURS\",\"SECONDS\"]");
		assertThat(canonical(List.of(1, 2))).isNotEqualTo(canonical(List.of(2, 1)));
	}

	@Test
	void scaleOfADecimalHasNoEffect() {
		assertThat(canonical(new Amount(new BigDecimal("1.50"))))
			.isEqualTo(canonical(new Amount(new BigDecimal("1.5"))))
			.isNotEqualTo(canonical(new Amount(new BigDecimal("1.51"))));
		assertThat(canonical(new BigDecimal("0.00"))).isEqualTo(canonical(BigDecimal.ZERO));
		assertThat(canonical(new BigDecimal("1E+1000000000"))).isEqualTo("1E+1000000000");
	}

	@Test
	void jsonSettingsOfTheApplicationHaveNoEffect() {
		JsonMapper other = JsonMapper.builder()
			.propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
			.enumNamingStrategy(EnumNamingStrategies.LOWER_CAMEL_CASE)
			.changeDefaultPropertyInclusion((inclusion) -> inclusion.withValueInclusion(JsonInclude.Include.NON_EMPTY))
			.enable(DateTimeFeature.WRITE_DATES_AS_TIMESTAMPS, DateTimeFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
			.enable(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN)
			.enable(JsonWriteFeature.WRITE_NUMBERS_AS_STRINGS, JsonWriteFeature.ESCAPE_NON_ASCII)
			.enable(SerializationFeature.WRITE_SINGLE_ELEM_ARRAYS_UNWRAPPED, SerializationFeature.WRAP_ROOT_VALUE)
			.enable(SerializationFeature.WRITE_CHAR_ARRAYS_AS_JSON_ARRAYS)
			.disable(SerializationFeature.WRITE_EMPTY_JSON_ARRAYS)
			.disable(MapperFeature.DEFAULT_VIEW_INCLUSION)
			.enable(MapperFeature.USE_STATIC_TYPING)
			.defaultDateFormat(new SimpleDateFormat("yyyy-MM-dd"))
			.defaultTimeZone(TimeZone.getTimeZone("Asia/Tokyo"))
			.defaultLocale(Locale.JAPAN)
			.defaultBase64Variant(Base64Variants.MODIFIED_FOR_URL)
			.defaultSerializationView(Object.class)
			.withConfigOverride(Instant.class,
					(settings) -> settings.setFormat(JsonFormat.Value.forShape(JsonFormat.Shape.NUMBER)))
			.withConfigOverride(BigDecimal.class,
					(settings) -> settings.setFormat(JsonFormat.Value.forShape(JsonFormat.Shape.STRING)))
			.build();
		Times times = new Times(Instant.parse("2025-01-02T03:04:05.123456789Z"), LocalDate.parse("2025-01-02"),
				Duration.ofMinutes(90), "\u00e9", List.of());
		Map<String, Object> others = Map.of("date", new Date(3_600_000), "bytes", new byte[] { -1, -2, -3, -4 },
				"characters", new char[] { 'a' }, "number", new BigDecimal("1E+3"), "double", 0.5, "one", List.of(1),
				"unit", TimeUnit.SECONDS);
		for (Object content : List.of(times, others)) {
			assertThat(new JacksonSerialization(other).canonical(content))
				.isEqualTo(this.serialization.canonical(content));
		}
		assertThat(canonical(times)).contains("05.123456789Z", "\"PT1H30M\"", "noteText", "\"list\":[]");
		assertThat(canonical(others)).contains("1970-01-01T01:00:00");
	}

	@Test
	void propertiesOfASubclassAreIncludedWithStaticTyping() {
		JsonMapper mapper = JsonMapper.builder().enable(MapperFeature.USE_STATIC_TYPING).build();
		Serialization form = new JacksonSerialization(mapper);
		assertThat(form.canonical(new Method(new Card("1")))).isNotEqualTo(form.canonical(new Method(new Card("2"))));
	}

	@Test
	void modulesAnnotationsAndVisibilityOfTheApplicationApply() {
		JsonMapper mapper = JsonMapper.builder()
			.addModule(new SimpleModule("upper").addSerializer(TimeUnit.class, ToStringSerializer.instance))
			.addMixIn(Amount.class, Renamed.class)
			.changeDefaultVisibility((visibility) -> visibility.withFieldVisibility(Visibility.ANY))
			.withConfigOverride(Card.class,
					(settings) -> settings.setIgnorals(JsonIgnoreProperties.Value.forIgnoredProperties("currency")))
			.withConfigOverride(Secret.class,
					(settings) -> settings
						.setVisibility(JsonAutoDetect.Value.construct(PropertyAccessor.FIELD, Visibility.NONE)))
			.build();
		Serialization form = new JacksonSerialization(mapper);
		assertThat(text(form, new Amount(BigDecimal.ONE))).isEqualTo("{\"renamed\":1}");
		assertThat(text(form, new Opaque("a"))).isEqualTo("{\"text\":\"a\"}");
		assertThat(text(form, new Card("1"))).isEqualTo("{\"number\":\"1\"}");
		assertThat(text(form, new Secret())).isEqualTo("{\"shown\":1}");
	}

	private static String text(Serialization form, Object value) {
		return new String(form.canonical(value), StandardCharsets.UTF_8);
	}

	@Test
	void filteredPropertiesAreIncluded() {
		JsonMapper mapper = JsonMapper.builder()
			.filterProvider(new SimpleFilterProvider().addFilter("none", SimpleBeanPropertyFilter.filterOutAllExcept()))
			.build();
		assertThat(text(new JacksonSerialization(mapper), new Filtered("a"))).isEqualTo("{\"id\":\"a\"}");
		assertThat(canonical(new Filtered("a"))).isEqualTo("{\"id\":\"a\"}");
	}

	@Test
	void nullPropertyEqualsAnAbsentOne() {
		assertThat(canonical(new Payment2("a", 1, null, Optional.empty(), OptionalInt.empty())))
			.isEqualTo(canonical(new Payment1("a", 1)));
		assertThat(canonical(new Payment2("a", 1, "x", Optional.of("y"), OptionalInt.of(2))))
			.isEqualTo("{\"amount\":1,\"customer\":\"y\",\"id\":\"a\",\"note\":\"x\",\"term\":2}");
		Map<String, Object> map = new HashMap<>(Map.of("a", 1));
		map.put("b", null);
		assertThat(canonical(map)).isEqualTo("{\"a\":1}");
		assertThat(canonical(Map.of("inner", map))).isEqualTo("{\"inner\":{\"a\":1}}");
		assertThat(canonical(new AnyProperties(map))).isEqualTo("{\"a\":1}");
		JsonMapper json = JsonMapper.builder().build();
		assertThat(canonical(json.readTree("{\"b\":null,\"a\":{\"d\":null,\"c\":1}}"))).isEqualTo("{\"a\":{\"c\":1}}");
	}

	@Test
	void nullFieldThatIsAddedToAnAvroSchemaHasNoEffect() {
		Schema before = SchemaBuilder.record("R").fields().requiredString("a").endRecord();
		Schema after = SchemaBuilder.record("R").fields().requiredString("a").optionalString("b").endRecord();
		assertThat(canonical(new GenericRecordBuilder(after).set("a", "1").build()))
			.isEqualTo(canonical(new GenericRecordBuilder(before).set("a", "1").build()));
	}

	@Test
	void nullElementOfAListIsSignificant() {
		assertThat(canonical(Arrays.asList(1, null))).isEqualTo("[1,null]");
		assertThat(canonical(JsonMapper.builder().build().readTree("{\"a\":[1,null]}"))).isEqualTo("{\"a\":[1,null]}");
	}

	@Test
	void emptyListIsExcludedByAnAnnotation() {
		assertThat(canonical(new Lists(List.of(), List.of()))).isEqualTo("{\"always\":[]}");
	}

	@Test
	void numbersOfAJsonTreeAreNormalized() {
		JsonMapper doubles = JsonMapper.builder().build();
		JsonMapper decimals = JsonMapper.builder().enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS).build();
		assertThat(canonical(decimals.readTree("{\"b\":[100.0],\"a\":1.50}")))
			.isEqualTo(canonical(decimals.readTree("{\"a\":1.5,\"b\":[100.00]}")))
			.isEqualTo(canonical(doubles.readTree("{\"a\":1.5,\"b\":[100.0]}")))
			.isEqualTo("{\"a\":1.5,\"b\":[1E+2]}");
		assertThat(canonical(0.1f)).isEqualTo(canonical(0.1)).isEqualTo(canonical(new BigDecimal("0.10")));
		assertThat(canonical(Double.NaN)).isEqualTo("\"NaN\"");
	}

	@Test
	void valueWithoutPropertiesIsRefused() {
		assertRefused(new Opaque("secret"));
		assertRefused(List.of(new Opaque("secret")));
	}

	@Test
	void valueWithoutPropertiesIsRefusedInSpiteOfItsAnnotations() {
		JsonMapper json = JsonMapper.builder().build();
		Created created = json.readValue("{\"id\":\"secret\"}", Created.class);
		assertThat(created.id()).isEqualTo("secret");
		assertRefused(created);
		assertRefused(Map.of("a", List.of(created)));
		assertRefused(new Wrapper(created));
		assertRefused(json.readValue("{\"id\":\"secret\"}", Built.class));
		assertRefused(new Nothing());
		assertRefused(new Wrapper(new Nothing()));
	}

	@Test
	void typeIdIsTheContentOfAClassWithoutFields() {
		assertThat(canonical(new Paid(new Cash()))).isEqualTo("{\"by\":{\"type\":\"cash\"}}");
		assertRefused(new Paid(new Hidden("secret")));
	}

	// To this version of Jackson, it is an object whose properties are the same for all
	// trees.
	@Test
	void treeOfJackson2HasTheFormOfItsJson() throws Exception {
		ObjectMapper earlier = new ObjectMapper();
		assertThat(canonical(earlier.readTree("{\"b\":[1.50,\"x\",true],\"a\":null}")))
			.isEqualTo("{\"b\":[1.5,\"x\",true]}");
		assertThat(canonical(Map.of("id", earlier.readTree("\"x\"")))).isEqualTo("{\"id\":\"x\"}");
	}

	// The handler would find it empty.
	@Test
	void valueThatCanBeReadOnceIsNotRead() {
		Iterator<String> iterator = List.of("a").iterator();
		assertRefused(iterator);
		assertRefused(new Rows(Stream.of("a"), null));
		assertRefused(new Rows(null, iterator));
		assertRefused(IntStream.of(1));
		assertThat(iterator).hasNext();
		assertThat(canonical(new Rows(null, null))).isEqualTo("{}");
	}

	private void assertRefused(Object value) {
		assertThatExceptionOfType(JacksonException.class).isThrownBy(() -> canonical(value))
			.withMessageNotContaining("secret");
	}

	@Test
	void formIsTheSameWithoutAvroAndProtobuf() throws Exception {
		ClassLoader without = new OverridingClassLoader(getClass().getClassLoader()) {

			@Override
			protected boolean isEligibleForOverriding(String className) {
				return className.startsWith("dev.idempotency.jackson.");
			}

			@Override
			protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
				if (name.startsWith("org.apache.avro.") || name.startsWith("com.google.protobuf.")) {
					throw new ClassNotFoundException(name);
				}
				return super.loadClass(name, resolve);
			}

		};
		Serialization isolated = (Serialization) without.loadClass(JacksonSerialization.class.getName())
			.getConstructor(JsonMapper.class)
			.newInstance(JsonMapper.builder().build());
		assertThat(isolated.getClass()).isNotEqualTo(JacksonSerialization.class);
		assertThat(isolated.canonical(Map.of("a", Set.of(1))))
			.isEqualTo(this.serialization.canonical(Map.of("a", Set.of(1))));
	}

	@Test
	void canonicalFormHasAVersion() {
		assertThat(this.serialization.canonicalVersion()).isEqualTo(2);
	}

	record Rows(Stream<String> stream, Iterator<String> iterator) {

	}

	record Amount(BigDecimal value) {

	}

	record Holder(Set<Amount> amounts) {

	}

	record Times(Instant at, LocalDate day, Duration length, String noteText, List<String> list) {

	}

	@JsonInclude
	record Payment1(String id, long amount) {

	}

	@JsonInclude
	record Payment2(String id, long amount, @Nullable String note, Optional<String> customer, OptionalInt term) {

	}

	record AnyProperties(@JsonAnyGetter Map<String, Object> all) {

	}

	record Lists(@JsonInclude(JsonInclude.Include.NON_EMPTY) List<String> some, List<String> always) {

	}

	@JsonFilter("none")
	record Filtered(String id) {

	}

	record Wrapper(Object content) {

	}

	record Nothing() {

	}

	record Method(Base method) {

	}

	interface Renamed {

		@JsonProperty("renamed")
		BigDecimal value();

	}

	static class Base {

		public final String currency = "EUR";

	}

	static class Card extends Base {

		public final String number;

		Card(String number) {
			this.number = number;
		}

	}

	public static class Secret {

		public final int hidden = 2;

		public int getShown() {
			return 1;
		}

	}

	@JsonIgnoreProperties(ignoreUnknown = true)
	static class Created {

		private final String id;

		@JsonCreator
		Created(@JsonProperty("id") String id) {
			this.id = id;
		}

		String id() {
			return this.id;
		}

	}

	@JsonDeserialize(builder = Built.Builder.class)
	static class Built {

		private final String id;

		Built(String id) {
			this.id = id;
		}

		String id() {
			return this.id;
		}

		@JsonPOJOBuilder
		static class Builder {

			private String id = "";

			Builder withId(String id) {
				this.id = id;
				return this;
			}

			Built build() {
				return new Built(this.id);
			}

		}

	}

	@JsonTypeInfo(use = JsonTypeInfo.Id.NAME, property = "type")
	@JsonSubTypes({ @JsonSubTypes.Type(value = Cash.class, name = "cash"),
			@JsonSubTypes.Type(value = Hidden.class, name = "hidden") })
	interface Means {

	}

	record Cash() implements Means {

	}

	record Paid(Means by) {

	}

	@JsonIgnoreProperties(ignoreUnknown = true)
	static class Hidden implements Means {

		private final String text;

		Hidden(String text) {
			this.text = text;
		}

		@Override
		public String toString() {
			return this.text;
		}

	}

	static final class Opaque {

		private final String text;

		Opaque(String text) {
			this.text = text;
		}

		@Override
		public String toString() {
			return this.text;
		}

	}

	/**
	 * A class as Avro's generator writes it.
	 */
	public static class Order extends SpecificRecordBase {

		public static final Schema SCHEMA$ = SchemaBuilder.record("Order")
			.namespace("payments")
			.fields()
			.requiredString("id")
			.endRecord();

		private CharSequence id;

		Order(String id) {
			this.id = id;
		}

		@Override
		public Schema getSchema() {
			return SCHEMA$;
		}

		@Override
		public Object get(int field) {
			return this.id;
		}

		@Override
		public void put(int field, Object value) {
			this.id = (CharSequence) value;
		}

	}

}
