/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.jspecify.annotations.Nullable;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.ObjectUtils;
import org.springframework.util.StringUtils;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.OperationObserver;
import dev.idempotency.template.OperationObserver.Outcome;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.RecordingObserver;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * An application whose listeners do not start automatically, so that records sent before
 * the start arrive in one batch. The topic, group, scope and id of a listener have the
 * same name.
 */
public final class BatchApp implements AutoCloseable {

	private final ConfigurableApplicationContext context;

	private final String prefix;

	public BatchApp(Class<?> listeners, String mode, String... properties) {
		this(new Class<?>[] { listeners }, mode, properties);
	}

	public BatchApp(Class<?>[] configuration, String mode, String... properties) {
		this(Servers.unique("batch"), configuration, mode, properties);
	}

	private BatchApp(String prefix, Class<?>[] configuration, String mode, String... properties) {
		this.prefix = prefix;
		TestApp app = TestApp
			.of(ObjectUtils.addObjectToArray(ObjectUtils.addObjectToArray(configuration, BlockedTopics.class),
					RecordingObserver.class))
			.with("prefix", this.prefix)
			.with("idempotency.mode", mode.equals("redis") ? "leased" : mode)
			.with("spring.kafka.listener.auto-startup", false);
		for (String property : properties) {
			int end = property.indexOf('=');
			app.with(property.substring(0, end), property.substring(end + 1));
		}
		if (mode.equals("redis")) {
			app.redis(Servers.redis());
		}
		this.context = app.run();
		// The first call opens a connection.
		await().ignoreExceptions().atMost(Duration.ofSeconds(20)).untilAsserted(() -> store().ping());
	}

	/**
	 * Start another instance of the application, with the same database and groups.
	 * @param listeners its listeners
	 * @param mode the mode
	 * @param properties more properties
	 * @return the instance
	 */
	public BatchApp another(Class<?> listeners, String mode, String... properties) {
		return another(new Class<?>[] { listeners }, mode, properties);
	}

	public BatchApp another(Class<?>[] configuration, String mode, String... properties) {
		String url = "spring.datasource.url=" + this.context.getEnvironment().getProperty("spring.datasource.url");
		return new BatchApp(this.prefix, configuration, mode, StringUtils.addStringToArray(properties, url));
	}

	public <T> T listeners(Class<T> type) {
		return TestApp.target(this.context, type);
	}

	public <T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	public String name(String listener) {
		return this.prefix + "-" + listener;
	}

	/**
	 * Send letters. Each letter is both the value and the key.
	 * @param listener the listener, and its topic
	 * @param partitions the letters of each partition
	 */
	public void send(String listener, String... partitions) {
		Servers.addTopics(partitions.length, name(listener));
		sendMore(listener, partitions);
	}

	void sendMore(String listener, String... partitions) {
		for (int partition = 0; partition < partitions.length; partition++) {
			for (String letter : partitions[partition].split(" ")) {
				Kafka.send(Kafka.record(name(listener), partition, letter.equals("-") ? null : letter, letter));
			}
		}
	}

	public IdempotencyStore store() {
		return this.context.getBean(IdempotencyStore.class);
	}

	public IdempotencyKey key(String listener, String letter) {
		return IdempotencyKey.of(name(listener), letter);
	}

	IdempotencyRecord record(String listener, String letter) {
		return one(store()).find(key(listener, letter)).orElseThrow();
	}

	int pending() {
		return this.context.getBean(IdempotencyTemplate.class).admin().unrecorded().size();
	}

	public ClaimRequest hold(String listener, String letter, Duration lease) {
		ClaimRequest request = new ClaimRequest(key(listener, letter), UUID.randomUUID(), null, lease,
				Duration.ofHours(1));
		one(store()).claim(request);
		return request;
	}

	void complete(String listener, String letter, @Nullable String result) {
		one(store()).complete(hold(listener, letter, Duration.ofMinutes(1)),
				(result != null) ? result.getBytes(StandardCharsets.UTF_8) : null);
	}

	public void start(String listener) {
		container(listener).start();
	}

	MessageListenerContainer container(String listener) {
		return this.context.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer(name(listener));
	}

	public void stop(String listener) {
		this.context.getBean(KafkaListenerEndpointRegistry.class).getListenerContainer(name(listener)).stop();
	}

	long lag(String listener) {
		return Kafka.lag(name(listener), name(listener));
	}

	List<Outcome> outcomes(String listener, String letter) {
		return bean(RecordingObserver.class).outcomes(key(listener, letter));
	}

	boolean isBlocked(String listener) {
		return bean(BlockedTopics.class).names.contains(name(listener));
	}

	void awaitBlocked(String listener) {
		await().atMost(Duration.ofSeconds(20)).until(() -> isBlocked(listener));
	}

	public void awaitDone(String listener) {
		await().atMost(Duration.ofSeconds(40)).untilAsserted(() -> assertThat(lag(listener)).isZero());
	}

	@Override
	public void close() {
		this.context.close();
	}

	/**
	 * The topics with a blocked record.
	 */
	private static final class BlockedTopics implements OperationObserver {

		private final Set<String> names = ConcurrentHashMap.newKeySet();

		@Override
		public void blocked(BlockedRecord record) {
			this.names.add(record.topic());
		}

		@Override
		public void unblocked(BlockedRecord record) {
			this.names.remove(record.topic());
		}

	}

	/**
	 * The batches that a listener has received.
	 */
	static final class Batches {

		private final Queue<String> batches = new ConcurrentLinkedQueue<>();

		int add(List<?> letters) {
			this.batches.add(String.join(" ", letters.stream().map(String::valueOf).toList()));
			return this.batches.size();
		}

		List<String> list() {
			return List.copyOf(this.batches);
		}

	}

}
