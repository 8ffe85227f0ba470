/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.IntegerDeserializer;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.support.StaticListableBeanFactory;
import org.springframework.core.ResolvableType;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.serializer.JacksonJsonDeserializer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link ListenerPayloads}. The tests of the slice send such records.
 */
class ListenerPayloadsTests {

	private static final Payment PAYMENT = new Payment("p-1", 7);

	@Test
	void objectIsSentAsJsonWithItsTypeIfNoListenerNamesOne() {
		ProducerRecord<Object, Object> sent = send(PAYMENT, new StringSerializer(),
				Map.of("value.deserializer", JacksonJsonDeserializer.class.getName()));
		assertThat(sent.value()).isEqualTo("{\"id\":\"p-1\",\"amount\":7}");
		assertThat(sent.headers()).extracting(Header::key).containsExactly("a", "__TypeId__");
	}

	@Test
	void objectIsSentAsJsonWithoutItsTypeIfAListenerNamesOne() {
		ProducerRecord<Object, Object> sent = send(PAYMENT, new ByteArraySerializer(), Map.of("value.deserializer",
				JacksonJsonDeserializer.class, JacksonJsonDeserializer.VALUE_DEFAULT_TYPE, Payment.class));
		assertThat(sent.value()).isEqualTo("{\"id\":\"p-1\",\"amount\":7}".getBytes());
		assertThat(sent.headers()).extracting(Header::key).containsExactly("a");
	}

	@Test
	void payloadThatTheProducerCanWriteIsNotChanged() {
		Map<String, Object> text = Map.of("value.deserializer", StringDeserializer.class);
		assertThat(send("text", new StringSerializer(), text).value()).isEqualTo("text");
		assertThat(send(7, new IntegerSerializer(), text).value()).isEqualTo(7);
		assertThat(send(Map.of("id", "p-1"), new StringSerializer(), text).value()).isEqualTo("{\"id\":\"p-1\"}");
	}

	@Test
	void objectForListenersThatReadNoJsonIsRefused() {
		assertThatIllegalStateException().isThrownBy(
				() -> send(PAYMENT, new StringSerializer(), Map.of("value.deserializer", IntegerDeserializer.class)))
			.withMessageContainingAll("ListenerPayloadsTests.Payment", "topic 'payments'",
					"Set 'spring.kafka.producer.value-serializer'", IntegerDeserializer.class.getName());
	}

	private static ProducerRecord<Object, Object> send(Object payload, Serializer<?> serializer,
			Map<String, Object> listener) {
		ContainerProperties properties = new ContainerProperties("payments");
		properties.setKafkaConsumerProperties(new Properties());
		properties.getKafkaConsumerProperties().putAll(listener);
		MessageListenerContainer container = mock();
		given(container.getContainerProperties()).willReturn(properties);
		ListenerProgress listeners = mock();
		given(listeners.listeners("payments")).willReturn(List.of(container));
		StaticListableBeanFactory beans = new StaticListableBeanFactory(
				Map.of("factory", new DefaultKafkaConsumerFactory<>(Map.of())));
		ListenerPayloads payloads = new ListenerPayloads(
				beans.getBeanProvider(ResolvableType.forClass(ConsumerFactory.class)), listeners);
		ProducerRecord<Object, Object> record = new ProducerRecord<>("payments", payload);
		record.headers().add("a", new byte[0]);
		return Objects.requireNonNull(payloads.sendable(record,
				new DefaultKafkaProducerFactory<>(Map.of(), new StringSerializer(), serializer)));
	}

	record Payment(String id, int amount) {
	}

}
