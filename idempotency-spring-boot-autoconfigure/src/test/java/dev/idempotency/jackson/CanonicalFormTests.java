package dev.idempotency.jackson;

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.concurrent.TimeUnit;

import com.fasterxml.jackson.annotation.JsonInclude;
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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.core.OverridingClassLoader;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.cfg.DateTimeFeature;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.Serialization;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link CanonicalForm}: equal content has equal bytes, other content never.
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

	// "Aa" and "BB" have one hash code, so that a hash map keeps them in the order of
	// their insertion.
	private static <V> Map<String, V> entries(V first, V second, boolean reversed) {
		Map<String, V> map = new LinkedHashMap<>();
		map.put(reversed ? "BB" : "Aa", reversed ? second : first);
		map.put(reversed ? "Aa" : "BB", reversed ? first : second);
		return map;
	}

	@Test
	void equalAvroRecordsAreEqualWhateverTheOrderOfTheirMaps() {
		GenericRecord first = payment("p-1", 10, entries("a", "b", false));
		GenericRecord second = payment("p-1", 10, entries("a", "b", true));
		assertThat(canonical(first)).isEqualTo(canonical(second))
			.contains("payments.Payment")
			.isNotEqualTo(canonical(payment("p-1", 11, entries("a", "b", false))))
			.isNotEqualTo(canonical(payment("p-1", 10, entries("b", "a", false))));
	}

	@Test
	void avroTextsOfBothClassesAreEqual() {
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
	void avroRecordsOfTwoSchemasDiffer() {
		Schema refund = SchemaBuilder.record("Refund").namespace("payments").fields().requiredString("id").endRecord();
		Schema charge = SchemaBuilder.record("Charge").namespace("payments").fields().requiredString("id").endRecord();
		assertThat(canonical(new GenericRecordBuilder(refund).set("id", "1").build()))
			.isNotEqualTo(canonical(new GenericRecordBuilder(charge).set("id", "1").build()));
	}

	@Test
	void orderOfTheFieldsOfAnAvroSchemaDoesNotCount() {
		Schema first = SchemaBuilder.record("R").fields().requiredString("a").requiredString("b").endRecord();
		Schema second = SchemaBuilder.record("R").fields().requiredString("b").requiredString("a").endRecord();
		assertThat(canonical(new GenericRecordBuilder(first).set("a", "1").set("b", "2").build()))
			.isEqualTo(canonical(new GenericRecordBuilder(second).set("a", "1").set("b", "2").build()));
	}

	@Test
	void avroValuesOfLogicalTypesAreWrittenAsObjectsAndAsPlainNumbers() {
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
	void generatedAvroClassIsEqualToTheGenericRecord() {
		GenericRecord generic = new GenericRecordBuilder(Order.SCHEMA$).set("id", "o-1").build();
		assertThat(canonical(new Order("o-1"))).isEqualTo(canonical(generic)).isNotEqualTo(canonical(new Order("o-2")));
	}

	@Test
	void avroInsideOfOtherValuesIsWritten() {
		assertThat(canonical(List.of(new Order("o-1"), "x"))).isNotEqualTo(canonical(List.of(new Order("o-2"), "x")));
		assertThat(canonical(Map.of("order", new Order("o-1")))).contains("o-1");
	}

	@Test
	void equalProtobufMessagesAreEqualWhateverTheOrderOfTheirMaps() {
		Value one = Value.newBuilder().setNumberValue(1).build();
		Value two = Value.newBuilder().setNumberValue(2).build();
		Struct first = Struct.newBuilder().putAllFields(entries(one, two, false)).build();
		Struct second = Struct.newBuilder().putAllFields(entries(one, two, true)).build();
		assertThat(first.toByteArray()).isNotEqualTo(second.toByteArray());
		assertThat(canonical(first)).isEqualTo(canonical(second))
			.isNotEqualTo(canonical(Struct.newBuilder().putAllFields(entries(two, one, false)).build()));
	}

	@Test
	void protobufMessagesOfTwoTypesWithTheSameBytesDiffer() {
		StringValue text = StringValue.of("a");
		BytesValue bytes = BytesValue.of(ByteString.copyFromUtf8("a"));
		assertThat(text.toByteArray()).isEqualTo(bytes.toByteArray());
		assertThat(canonical(text)).isNotEqualTo(canonical(bytes));
	}

	@Test
	void bytesAreEqualInAnArrayAndInAnyBufferWhichIsNotConsumed() {
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
	void orderOfTheElementsOfASetDoesNotCountButThatOfAListDoes() {
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
	void scaleOfADecimalDoesNotCount() {
		assertThat(canonical(new Amount(new BigDecimal("1.50"))))
			.isEqualTo(canonical(new Amount(new BigDecimal("1.5"))))
			.isNotEqualTo(canonical(new Amount(new BigDecimal("1.51"))));
		assertThat(canonical(new BigDecimal("0.00"))).isEqualTo(canonical(BigDecimal.ZERO));
		assertThat(canonical(new BigDecimal("1E+1000000000"))).isEqualTo("1E+1000000000");
	}

	@Test
	void settingsOfTheApplicationsJsonDoNotCount() {
		JsonMapper other = JsonMapper.builder()
			.propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
			.changeDefaultPropertyInclusion((inclusion) -> inclusion.withValueInclusion(JsonInclude.Include.NON_EMPTY))
			.enable(DateTimeFeature.WRITE_DATES_AS_TIMESTAMPS, DateTimeFeature.WRITE_DURATIONS_AS_TIMESTAMPS)
			.defaultTimeZone(TimeZone.getTimeZone("Asia/Tokyo"))
			.build();
		Times times = new Times(Instant.parse("2025-01-02T03:04:05.123456789Z"), LocalDate.parse("2025-01-02"),
				Duration.ofMinutes(90), null, List.of());
		assertThat(new JacksonSerialization(other).canonical(times)).isEqualTo(this.serialization.canonical(times));
		assertThat(canonical(times)).contains("05.123456789Z", "\"PT1H30M\"", "\"noteText\":null", "\"list\":[]");
	}

	@Test
	void valueWithoutPropertiesIsRefused() {
		assertThatExceptionOfType(JacksonException.class).isThrownBy(() -> canonical(new Opaque("secret")));
		assertThatExceptionOfType(JacksonException.class).isThrownBy(() -> canonical(List.of(new Opaque("secret"))));
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
		assertThat(this.serialization.canonicalVersion()).isEqualTo(1);
	}

	record Amount(BigDecimal value) {

	}

	record Holder(Set<Amount> amounts) {

	}

	record Times(Instant at, LocalDate day, Duration length, String noteText, List<String> list) {

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
	 * As Avro's generator writes it.
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
