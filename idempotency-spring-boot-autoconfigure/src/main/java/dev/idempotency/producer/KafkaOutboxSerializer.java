/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.producer;

import java.io.EOFException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.lang.reflect.Method;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.net.http.HttpTimeoutException;
import java.nio.channels.ClosedChannelException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

import javax.net.ssl.SSLException;

import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Internal;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxSerializer;

/**
 * Serializes messages as a producer of the application's {@link ProducerFactory} does:
 * with its serializers and their configuration, and with the headers that they add.
 *
 * @since 0.1.0
 */
@Internal
public final class KafkaOutboxSerializer implements OutboxSerializer, AutoCloseable {

	// JSON libraries and the JDK use other subtypes of IOException for invalid content.
	private static final Set<Class<? extends IOException>> NETWORK_ERRORS = Set.of(SocketException.class,
			UnknownHostException.class, InterruptedIOException.class, HttpTimeoutException.class, SSLException.class,
			EOFException.class, ClosedChannelException.class);

	// Confluent's client is not a dependency.
	private static final String REST_ERROR = "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException";

	private static final int TOO_MANY_REQUESTS = 429;

	private static final int SERVER_ERROR = 500;

	private final List<Serializer<?>> created = new ArrayList<>();

	private final Serializer<Object> keys;

	private final Serializer<Object> payloads;

	/**
	 * Create a serializer.
	 * @param factory the factory of the application's {@code KafkaTemplate}
	 */
	public KafkaOutboxSerializer(ProducerFactory<?, ?> factory) {
		Map<String, Object> configuration = factory.getConfigurationProperties();
		this.keys = serializer(factory.getKeySerializer(), configuration, ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG,
				true);
		this.payloads = serializer(factory.getValueSerializer(), configuration,
				ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, false);
	}

	// A serializer instance of the factory is closed by its owner.
	@SuppressWarnings("unchecked")
	private Serializer<Object> serializer(@Nullable Serializer<?> given, Map<String, Object> configuration,
			String property, boolean key) {
		if (given != null) {
			return (Serializer<Object>) given;
		}
		Object type = configuration.get(property);
		Serializer<Object> serializer;
		try {
			serializer = (type instanceof Class<?> known) ? (Serializer<Object>) Utils.newInstance(known)
					: Utils.newInstance(String.valueOf(type), Serializer.class);
		}
		catch (ClassNotFoundException ex) {
			throw new IdempotencyConfigurationException(
					"The outbox cannot create the serializers of the KafkaTemplate: the '" + property
							+ "' of its ProducerFactory is missing or cannot be loaded.",
					"Return it from getConfigurationProperties() of the factory, or declare an OutboxSerializer bean.");
		}
		serializer.configure(configuration, key);
		this.created.add(serializer);
		return serializer;
	}

	@Override
	public OutboxRow serialize(OutboxMessage message, UUID id, String idempotencyKey) {
		Headers headers = new RecordHeaders();
		message.headers().forEach((header) -> headers.add(header.name(), header.value()));
		byte[] key;
		byte[] payload;
		try {
			key = this.keys.serialize(message.topic(), headers, message.key());
			payload = this.payloads.serialize(message.topic(), headers, message.payload());
		}
		catch (RuntimeException ex) {
			throw failure(message, ex);
		}
		return new OutboxRow(id, message.topic(), key, payload, stored(headers), idempotencyKey,
				message.aggregateType(), aggregateId(message, id), message.type());
	}

	// The relay adds these two headers itself.
	private static List<OutboxMessage.Header> stored(Headers headers) {
		return Arrays.stream(headers.toArray())
			.filter((header) -> !header.key().equals(OutboxRow.KEY_HEADER) && !header.key().equals(OutboxRow.ID_HEADER))
			.map((header) -> new OutboxMessage.Header(header.key(), header.value()))
			.toList();
	}

	private static String aggregateId(OutboxMessage message, UUID id) {
		if (message.aggregateId() != null) {
			return message.aggregateId();
		}
		Object key = message.key();
		return (key instanceof CharSequence || key instanceof Number || key instanceof UUID)
				? key.toString().replace('\0', ' ') : id.toString();
	}

	private RuntimeException failure(OutboxMessage message, RuntimeException cause) {
		String serializers = this.keys.getClass().getName() + " and " + this.payloads.getClass().getName();
		if (isOutage(cause)) {
			return new IdempotencyStoreUnavailableException("The " + message + " cannot be serialized: a server that "
					+ serializers + " need, such as a schema registry, is unavailable. Check that server", cause);
		}
		return new IllegalArgumentException(
				"The " + message + " cannot be serialized by the serializers of the KafkaTemplate (" + serializers
						+ "). Send a key and a payload of types that they accept",
				cause);
	}

	static boolean isOutage(Throwable failure) {
		return ExceptionCauses.find(failure, (cause) -> cause instanceof RetriableException || isNetworkError(cause)
				|| isServerError(cause)) != null;
	}

	private static boolean isNetworkError(Throwable cause) {
		return cause.getClass() == IOException.class
				|| NETWORK_ERRORS.stream().anyMatch((type) -> type.isInstance(cause));
	}

	private static boolean isServerError(Throwable cause) {
		Method getter = isRestError(cause.getClass()) ? ReflectionUtils.findMethod(cause.getClass(), "getStatus")
				: null;
		return getter != null && ReflectionUtils.invokeMethod(getter, cause) instanceof Integer status
				&& (status >= SERVER_ERROR || status == TOO_MANY_REQUESTS);
	}

	private static boolean isRestError(@Nullable Class<?> type) {
		return type != null && (type.getName().equals(REST_ERROR) || isRestError(type.getSuperclass()));
	}

	@Override
	public void close() {
		this.created.forEach(Serializer::close);
	}

}
