/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.NotSerializableException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.net.http.HttpConnectTimeoutException;
import java.nio.charset.CharacterCodingException;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Stream;

import com.fasterxml.jackson.core.JsonGenerationException;
import com.fasterxml.jackson.core.JsonGenerator;
import io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.SerializationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.outbox.OutboxMessage;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests for {@link KafkaOutboxSerializer} with serializers that fail like those of a
 * schema registry.
 */
@Tag("promise-11")
class KafkaOutboxSerializerTests {

	private static void serialize(RuntimeException failure) {
		DefaultKafkaProducerFactory<String, Object> factory = new DefaultKafkaProducerFactory<>(Map.of(),
				new StringSerializer(), (topic, data) -> {
					throw failure;
				});
		try (KafkaOutboxSerializer serializer = new KafkaOutboxSerializer(factory)) {
			serializer.serialize(OutboxMessage.to("payments").key("account-1").payload("secret").build(),
					UUID.randomUUID(), "key");
		}
	}

	static Stream<RuntimeException> outages() {
		return Stream.concat(
				Stream
					.of(new ConnectException(), new SocketTimeoutException(), new UnknownHostException(),
							new HttpConnectTimeoutException("secret"), new IOException("secret"),
							new RestClientException(503), new RestClientException(429), new TimeoutException())
					.map((cause) -> new SerializationException("secret", cause)),
				Stream.of(new TimeoutException(), new UncheckedIOException(new ConnectException())));
	}

	@ParameterizedTest
	@MethodSource("outages")
	void unavailableRegistryIsAnOutage(RuntimeException failure) {
		assertThatExceptionOfType(IdempotencyStoreUnavailableException.class).isThrownBy(() -> serialize(failure))
			.withCause(failure)
			.withMessageStartingWith("The message to payments with key account-1 cannot be serialized: a server that "
					+ StringSerializer.class.getName() + " and ")
			.withMessageEndingWith(" need, such as a schema registry, is unavailable. Check that server")
			.withMessageNotContaining("secret");
	}

	static Stream<RuntimeException> mistakes() {
		return Stream.concat(
				Stream
					.of(new JsonGenerationException("secret", (JsonGenerator) null), new NotSerializableException(),
							new CharacterCodingException(), new FileNotFoundException(), new RestClientException(409),
							new ConfigException("secret"))
					.map((cause) -> new SerializationException("secret", cause)),
				Stream.of(new SerializationException("secret"), new ClassCastException("secret")));
	}

	@ParameterizedTest
	@MethodSource("mistakes")
	void contentThatCannotBeSerializedIsRefused(RuntimeException failure) {
		assertThatIllegalArgumentException().isThrownBy(() -> serialize(failure))
			.withCause(failure)
			.withMessageNotContaining("secret");
	}

}
