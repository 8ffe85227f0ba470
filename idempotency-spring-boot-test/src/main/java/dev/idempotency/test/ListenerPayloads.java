/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.BytesDeserializer;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.kafka.support.serializer.JacksonJsonDeserializer;
import org.springframework.kafka.support.serializer.JacksonJsonSerializer;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

/**
 * Writes payloads as JSON for an application that only receives: its producer has no
 * serializer but that of text, which cannot write objects.
 */
final class ListenerPayloads {

	// Named, because the second one needs an older version of Jackson.
	private static final Set<String> JSON = Set.of(JacksonJsonDeserializer.class.getName(),
			"org.springframework.kafka.support.serializer.JsonDeserializer", StringDeserializer.class.getName(),
			ByteArrayDeserializer.class.getName(), BytesDeserializer.class.getName());

	private final ObjectProvider<ConsumerFactory<?, ?>> consumers;

	private final ListenerProgress listeners;

	ListenerPayloads(ObjectProvider<ConsumerFactory<?, ?>> consumers, ListenerProgress listeners) {
		this.consumers = consumers;
		this.listeners = listeners;
	}

	/**
	 * Return a record that the producer can serialize and the listeners of its topic can
	 * read.
	 */
	ProducerRecord<Object, Object> sendable(ProducerRecord<Object, Object> record, ProducerFactory<?, ?> producer) {
		Object value = record.value();
		if (value == null || value instanceof String || value instanceof byte[]) {
			return record;
		}
		String serializer = serializer(producer);
		boolean text = StringSerializer.class.getName().equals(serializer);
		if (!text && !ByteArraySerializer.class.getName().equals(serializer)) {
			return record;
		}
		List<Map<String, Object>> readers = readers(record.topic());
		Assert.state(readers.isEmpty() || readers.stream().anyMatch(ListenerPayloads::readsJson), () -> "The payload "
				+ ClassUtils.getShortName(value.getClass()) + " for the topic '" + record.topic()
				+ "' cannot be sent: the producer writes only text or bytes, and the listeners do not read JSON. "
				+ "Set 'spring.kafka.producer.value-serializer' in the test to the serializer that belongs to "
				+ deserializer(readers.get(0)));
		ProducerRecord<Object, Object> json = new ProducerRecord<>(record.topic(), record.partition(),
				record.timestamp(), record.key(), null, record.headers());
		byte[] bytes = write(json, value, readers.stream().noneMatch(ListenerPayloads::knowsType));
		return new ProducerRecord<>(record.topic(), record.partition(), record.timestamp(), record.key(),
				text ? new String(bytes, StandardCharsets.UTF_8) : bytes, json.headers());
	}

	private static byte[] write(ProducerRecord<Object, Object> json, Object value, boolean typeRequired) {
		try (JacksonJsonSerializer<Object> serializer = new JacksonJsonSerializer<>()) {
			serializer.setAddTypeInfo(typeRequired && !value.getClass().getName().startsWith("java."));
			byte[] bytes = serializer.serialize(json.topic(), json.headers(), value);
			Assert.state(bytes != null, "A value has no JSON");
			return bytes;
		}
	}

	private static @Nullable String serializer(ProducerFactory<?, ?> producer) {
		Serializer<?> serializer = producer.getValueSerializer();
		return (serializer != null) ? serializer.getClass().getName()
				: name(producer.getConfigurationProperties().get(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG));
	}

	private List<Map<String, Object>> readers(String topic) {
		List<Map<String, Object>> readers = new ArrayList<>();
		this.consumers.stream().forEach((factory) -> {
			for (MessageListenerContainer listener : this.listeners.listeners(topic)) {
				Map<String, Object> reader = new HashMap<>(factory.getConfigurationProperties());
				listener.getContainerProperties()
					.getKafkaConsumerProperties()
					.forEach((name, value) -> reader.put((String) name, value));
				readers.add(reader);
			}
		});
		return readers;
	}

	// A deserializer that is an object and not a property may read everything.
	private static boolean readsJson(Map<String, Object> reader) {
		String deserializer = deserializer(reader);
		return deserializer == null || JSON.contains(deserializer);
	}

	private static boolean knowsType(Map<String, Object> reader) {
		return reader.containsKey(JacksonJsonDeserializer.VALUE_DEFAULT_TYPE)
				|| reader.containsKey(JacksonJsonDeserializer.VALUE_TYPE_METHOD);
	}

	private static @Nullable String deserializer(Map<String, Object> reader) {
		String deserializer = name(reader.get(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG));
		return ErrorHandlingDeserializer.class.getName().equals(deserializer)
				? name(reader.get(ErrorHandlingDeserializer.VALUE_DESERIALIZER_CLASS)) : deserializer;
	}

	private static @Nullable String name(@Nullable Object type) {
		return (type instanceof Class<?> loaded) ? loaded.getName() : (type != null) ? type.toString() : null;
	}

}
