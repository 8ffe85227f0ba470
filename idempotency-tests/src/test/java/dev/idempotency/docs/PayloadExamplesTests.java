/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Deserializer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.support.KafkaHeaders;
import org.springframework.messaging.handler.annotation.Header;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.stereotype.Component;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Runs the examples of {@code docs/payload-formats.md}: each listener receives a record,
 * its copy, and a record with the same key and other content.
 */
@Tag("promise-9")
@ResourceLock("json-payments")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PayloadExamplesTests {

	private static final List<String> FORMATS = List.of("json", "kotlin", "avro", "protobuf", "bytes", "parsed");

	private ConfigurableApplicationContext context;

	private JdbcTemplate jdbc;

	@BeforeAll
	void start() {
		FORMATS.forEach((format) -> Servers.addTopics(1, format + "-payments", format + "-payments-dlt"));
		Servers.addTopics(1, "customers", "json-text");
		try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
				Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()), new ByteArraySerializer(),
				new ByteArraySerializer())) {
			for (int amount : new int[] { 1, 1, 2 }) {
				for (String format : FORMATS) {
					producer.send(new ProducerRecord<>(format + "-payments", text("p-1"), payload(format, amount)));
				}
			}
			producer.send(new ProducerRecord<>("json-payments", text("p-2"), text("no JSON")));
			producer.send(new ProducerRecord<>("json-text", text("p-1"), payload("json", 1)));
			producer.send(new ProducerRecord<>("json-text", text("p-1"), payload("json", 1)));
			producer.send(new ProducerRecord<>("customers", text("c-1"), text("name")));
			producer.send(new ProducerRecord<>("customers", text("c-1"), null));
			producer.send(new ProducerRecord<>("customers", text("c-2"), null));
		}
		String database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(database);
		this.context = TestApp.of(PayloadExamples.class, KotlinPayments.class, FailureConfiguration.class)
			.database(database)
			.with("failures.first-pause", "1ms")
			.with("spring.kafka.producer.value-serializer", AnyFormatSerializer.class.getName())
			.run();
		for (String topic : List.of("json-payments", "kotlin-payments", "avro-payments", "protobuf-payments",
				"bytes-payments", "parsed-payments", "customers", "json-text")) {
			await().atMost(Duration.ofSeconds(40))
				.untilAsserted(() -> assertThat(Kafka.lag("formats", topic)).isZero());
		}
	}

	private static byte[] payload(String format, int amount) {
		return switch (format) {
			case "avro" -> {
				GenericRecord payment = new GenericData.Record(AvroDeserializer.SCHEMA);
				payment.put("paymentId", "p-1");
				payment.put("amount", amount);
				yield AnyFormatSerializer.avro(payment);
			}
			case "protobuf" -> Struct.newBuilder()
				.putFields("paymentId", Value.newBuilder().setStringValue("p-1").build())
				.putFields("amount", Value.newBuilder().setNumberValue(amount).build())
				.build()
				.toByteArray();
			default -> text("{\"paymentId\":\"p-1\",\"amount\":" + amount + "}");
		};
	}

	private static byte[] text(String text) {
		return text.getBytes(StandardCharsets.UTF_8);
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "json", "avro", "protobuf", "bytes", "kotlin", "parsed" })
	void copyIsSkippedAndOtherContentIsADeadLetter(String format) {
		assertThat(this.jdbc.queryForList("SELECT key FROM idempotency_record WHERE scope = ?", String.class,
				"formats/" + format + "-payments"))
			.containsExactly("p-1");
		assertThat(handled(format)).hasSize(1);
		assertThat(Kafka.read(format + "-payments-dlt").get(0).value()).contains("p-1");
	}

	@Test
	void keyIsReadFromAConsumerRecordWithTextValues() {
		assertThat(handled("text")).hasSize(1);
	}

	@Test
	@Tag("promise-10")
	void recordThatCannotBeDeserializedIsADeadLetterWithItsBytes() {
		assertThat(Kafka.read("json-payments-dlt")).extracting((dead) -> dead.value()).hasSize(2).contains("no JSON");
	}

	@Test
	@Tag("promise-10")
	void tombstonesHaveAKeyOfTheirOwn() {
		assertThat(handled("customers")).containsExactly("c-1 name", "c-1 null", "c-2 null");
		assertThat(this.jdbc.queryForList("SELECT key FROM idempotency_record WHERE scope = 'formats/customers'",
				String.class))
			.containsExactlyInAnyOrder("c-1@0", "c-1@1", "c-2@2");
	}

	private Queue<String> handled(String format) {
		return format.equals("kotlin") ? TestApp.target(this.context, KotlinPayments.class).getHandled()
				: TestApp.target(this.context, PayloadExamples.class).handled(format);
	}

	public static class PaymentJson {

		private static final JsonMapper mapper = new JsonMapper();

		public static @Nullable String id(String json) {
			return mapper.readTree(json).path("paymentId").stringValue(null);
		}

	}

	@Component
	static class PayloadExamples {

		private final Map<String, Queue<String>> handled = new ConcurrentHashMap<>();

		Queue<String> handled(String format) {
			return this.handled.computeIfAbsent(format, (name) -> new ConcurrentLinkedQueue<>());
		}

		@Idempotent(key = "#payload.paymentId", fingerprint = "#payload")
		@KafkaListener(topics = "json-payments", groupId = "formats", properties = {
				"value.deserializer=org.springframework.kafka.support.serializer.ErrorHandlingDeserializer",
				"spring.deserializer.value.delegate.class=org.springframework.kafka.support.serializer.JacksonJsonDeserializer",
				"spring.json.value.default.type=dev.idempotency.docs.PayloadExamplesTests$PayloadExamples$Payment" })
		void json(Payment payment) {
			handled("json").add(payment.paymentId());
		}

		// The value is JSON text, which the listener does not parse for its key.
		@Idempotent(key = "#record.key()")
		@KafkaListener(topics = "json-text", groupId = "formats")
		void text(String payment) {
			handled("text").add(payment);
		}

		// The static method reads the key from the JSON text.
		@Idempotent(key = "T(dev.idempotency.docs.PayloadExamplesTests$PaymentJson).id(#payload)",
				fingerprint = "#payload")
		@KafkaListener(topics = "parsed-payments", groupId = "formats")
		void parsed(String payment) {
			handled("parsed").add(payment);
		}

		@Idempotent(key = "#payload.get('paymentId')", fingerprint = "#payload")
		@KafkaListener(topics = "avro-payments", groupId = "formats",
				properties = "value.deserializer=dev.idempotency.docs.PayloadExamplesTests$AvroDeserializer")
		void avro(GenericRecord payment) {
			handled("avro").add(payment.get("paymentId").toString());
		}

		@Idempotent(key = "#payload.getFieldsOrThrow('paymentId').getStringValue()", fingerprint = "#payload")
		@KafkaListener(topics = "protobuf-payments", groupId = "formats",
				properties = "value.deserializer=dev.idempotency.docs.PayloadExamplesTests$ProtobufDeserializer")
		void protobuf(Struct payment) {
			handled("protobuf").add(payment.getFieldsOrThrow("paymentId").getStringValue());
		}

		@Idempotent(key = "#record.key()", fingerprint = "#payload")
		@KafkaListener(topics = "bytes-payments", groupId = "formats",
				properties = "value.deserializer=org.apache.kafka.common.serialization.ByteArrayDeserializer")
		void bytes(byte[] payment) {
			handled("bytes").add(Arrays.toString(payment));
		}

		@Idempotent(key = "#id + '@' + #offset")
		@KafkaListener(topics = "customers", groupId = "formats")
		void customer(@Payload(required = false) @Nullable String customer,
				@Header(KafkaHeaders.RECEIVED_KEY) String id, @Header(KafkaHeaders.OFFSET) long offset) {
			handled("customers").add(id + " " + customer);
		}

		record Payment(String paymentId, int amount) {
		}

	}

	/**
	 * Reads Avro without a schema registry.
	 */
	public static class AvroDeserializer implements Deserializer<GenericRecord> {

		static final Schema SCHEMA = new Schema.Parser().parse("""
				{"type": "record", "name": "Payment", "namespace": "com.example", "fields": [
				  {"name": "paymentId", "type": "string"}, {"name": "amount", "type": "int"}]}""");

		@Override
		public GenericRecord deserialize(String topic, byte[] data) {
			try {
				return new GenericDatumReader<GenericRecord>(SCHEMA).read(null,
						DecoderFactory.get().binaryDecoder(data, null));
			}
			catch (IOException ex) {
				throw new UncheckedIOException(ex);
			}
		}

	}

	/**
	 * Reads Protobuf without a schema registry.
	 */
	public static class ProtobufDeserializer implements Deserializer<Struct> {

		@Override
		public Struct deserialize(String topic, byte[] data) {
			try {
				return Struct.parseFrom(data);
			}
			catch (InvalidProtocolBufferException ex) {
				throw new UncheckedIOException(ex);
			}
		}

	}

}
