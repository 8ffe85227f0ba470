/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.range;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Uuid;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;

import dev.idempotency.IdempotencyStoreRefusedException;

/**
 * Asks the broker for the ids of topics, with one client for each configuration of
 * consumers. A client is created when it is needed first.
 */
public final class TopicIds implements DisposableBean {

	private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(2);

	private static final Duration TIMEOUT = Duration.ofSeconds(5);

	private final Map<Map<String, Object>, Admin> clients = new HashMap<>();

	private boolean closed;

	public UUID find(Map<String, Object> consumer, String topic) {
		try {
			KafkaFuture<TopicDescription> description = client(consumer).describeTopics(List.of(topic))
				.topicNameValues()
				.get(topic);
			Uuid id = await(Objects.requireNonNull(description), TIMEOUT).topicId();
			if (id.equals(Uuid.ZERO_UUID)) {
				throw unknown(topic, "the broker does not have ids of topics", null);
			}
			return new UUID(id.getMostSignificantBits(), id.getLeastSignificantBits());
		}
		catch (KafkaException | IllegalStateException ex) {
			throw unknown(topic, String.valueOf(ex.getMessage()), ex);
		}
	}

	/**
	 * Ask the broker with a client that is closed then.
	 * @param consumer the configuration of consumers
	 * @param timeout the time to wait for the answer
	 * @param question asks the client
	 * @param <T> the type of the answer
	 * @return the answer
	 * @throws KafkaException if there is none
	 */
	public static <T> T ask(Map<String, Object> consumer, Duration timeout, Function<Admin, KafkaFuture<T>> question) {
		Admin client = Admin.create(configuration(consumer));
		try {
			return await(question.apply(client), timeout);
		}
		finally {
			client.close(Duration.ZERO);
		}
	}

	private static <T> T await(KafkaFuture<T> answer, Duration timeout) {
		try {
			return answer.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new KafkaException("the thread was interrupted", ex);
		}
		catch (ExecutionException ex) {
			throw new KafkaException(String.valueOf(ex.getCause()), ex.getCause());
		}
		catch (TimeoutException ex) {
			throw new KafkaException("the broker did not answer within " + timeout.toSeconds() + " s", ex);
		}
	}

	private static IdempotencyStoreRefusedException unknown(String topic, String reason, @Nullable Throwable cause) {
		return new IdempotencyStoreRefusedException("The id of the topic '" + topic + "' could not be determined ("
				+ reason + "), so it is not known whether offsets belong to this topic or to one that was deleted. "
				+ "Its records are redelivered until the id is known. Allow the user of the consumer to describe the "
				+ "topic, on brokers of version 2.8 or later; or recognize records by keys: set "
				+ "'idempotency.key.on-missing', or 'onMissingKey' of @Idempotent, to 'record-coordinates'", cause);
	}

	private synchronized Admin client(Map<String, Object> consumer) {
		if (this.closed) {
			throw new IllegalStateException("the application stops");
		}
		return this.clients.computeIfAbsent(configuration(consumer), Admin::create);
	}

	public static Map<String, Object> configuration(Map<String, Object> consumer) {
		Map<String, Object> configuration = new HashMap<>(consumer);
		configuration.keySet().retainAll(AdminClientConfig.configNames());
		configuration.remove(AdminClientConfig.CLIENT_ID_CONFIG);
		configuration.remove(AdminClientConfig.METRIC_REPORTER_CLASSES_CONFIG);
		configuration.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) REQUEST_TIMEOUT.toMillis());
		configuration.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis());
		return configuration;
	}

	@Override
	public synchronized void destroy() {
		this.closed = true;
		this.clients.values().forEach((client) -> client.close(Duration.ZERO));
		this.clients.clear();
	}

}
