/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import org.apache.kafka.common.KafkaException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.kafka.autoconfigure.DefaultKafkaConsumerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ContainerPostProcessor;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.AcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.BatchAcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.listener.DefaultAfterRollbackProcessor;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.Idempotent;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for containers that the application changes, with a post-processor before their
 * registration or through their setters after it.
 */
@Tag("promise-15")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ChangedContainerTests {

	private static final Duration PATIENCE = Duration.ofSeconds(90);

	private BatchApp app;

	@BeforeAll
	void start() {
		this.app = new BatchApp(Listeners.class, "leased");
	}

	@AfterAll
	void stop() {
		this.app.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "record", "batch" })
	void blockedRecordIsNotLostIfAnErrorHandlerIsSetAfterRegistration(String name) {
		Servers.addTopics(1, this.app.name(name));
		container(name).setCommonErrorHandler(impatient());
		assertBlockedRecordWaits(name);
	}

	@Test
	void blockedRecordIsNotLostIfAnErrorHandlerIsSetBeforeARestart() {
		this.app.send("restarted", "-");
		this.app.start("restarted");
		this.app.awaitDone("restarted");
		AbstractMessageListenerContainer<?, ?> container = container("restarted");
		container.stop();
		container.setCommonErrorHandler(impatient());
		assertBlockedRecordWaits("restarted");
	}

	@Test
	void blockedRecordIsNotLostIfAnErrorHandlerIsSetOnOneConsumer() {
		this.app.send("child", "-");
		this.app.start("child");
		this.app.awaitDone("child");
		AbstractMessageListenerContainer<?, ?> child = ((ConcurrentMessageListenerContainer<?, ?>) container("child"))
			.getContainers()
			.get(0);
		child.stop();
		child.setCommonErrorHandler(impatient());
		child.start();
		assertBlockedRecordWaits("child");
	}

	@Test
	void blockedRecordIsNotLostIfAnAfterRollbackProcessorIsSetAfterRegistration() {
		try (BatchApp transactional = new BatchApp(Listeners.class, "leased",
				"spring.kafka.producer.transaction-id-prefix=changed-")) {
			Servers.addTopics(1, transactional.name("record"));
			((AbstractMessageListenerContainer<?, ?>) transactional.container("record"))
				.setAfterRollbackProcessor(new DefaultAfterRollbackProcessor<>(new FixedBackOff(0, 1)));
			assertBlockedRecordWaits(transactional, "record");
		}
	}

	@Test
	void copyIsSkippedIfTheListenerIsReplacedAfterRegistration() {
		Listeners listeners = this.app.listeners(Listeners.class);
		MessageListener<String, String> replacement = (record) -> listeners.self().replaced(record.value());
		container("replaced").setupMessageListener(replacement);
		this.app.send("replaced", "a a b");
		this.app.start("replaced");
		this.app.awaitDone("replaced");
		assertThat(listeners.seen("replaced")).containsExactly("a", "b");
	}

	@Test
	void containerDoesNotStartIfTheListenerIsReplacedByAnotherKind() {
		BatchMessageListener<String, String> replacement = (records) -> {
		};
		try (Logs logs = Logs.about(this.app.name("kind"))) {
			container("kind").setupMessageListener(replacement);
			this.app.send("kind", "a");
			this.app.start("kind");
			await().atMost(PATIENCE).until(() -> !container("kind").isRunning());
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.startsWith("The container '" + this.app.name("kind") + "' was stopped before it delivered a record: ")
				.contains("batch");
		}
		assertThat(this.app.lag("kind")).isOne();
	}

	@Test
	@Tag("promise-1")
	void containerDoesNotStartIfTheAckModeIsSetAfterRegistration() {
		assertStopped("mode", (container) -> container.getContainerProperties().setAckMode(AckMode.MANUAL),
				"its ack mode was changed to MANUAL after its registration", "Set it on the container factory");
	}

	@Test
	void containerDoesNotStartIfTheConsumerGroupIsSetAfterRegistration() {
		assertStopped("group", (container) -> container.getContainerProperties().setGroupId("other"),
				"its consumer group was changed to 'other' after its registration", "Set 'groupId' of @KafkaListener");
	}

	private void assertStopped(String name, Consumer<AbstractMessageListenerContainer<?, ?>> change, String what,
			String action) {
		try (Logs logs = Logs.about(this.app.name(name))) {
			change.accept(container(name));
			this.app.send(name, "a");
			this.app.start(name);
			await().atMost(PATIENCE).until(() -> !container(name).isRunning());
			assertThat(logs.messages("ERROR")).singleElement()
				.asString()
				.startsWith("The container '" + this.app.name(name) + "' was stopped before it delivered a record: ")
				.contains(what, action);
		}
		assertThat(this.app.lag(name)).isOne();
	}

	@Test
	@Tag("promise-2")
	void failedRestartOfAConsumerIsRetried() {
		AtomicInteger creations = this.app.listeners(Listeners.class).creations;
		this.app.send("failing", "a");
		container("failing").setCommonErrorHandler(impatient());
		this.app.start("failing");
		this.app.awaitDone("failing");
		assertThat(creations).hasValueGreaterThan(2);
	}

	@ParameterizedTest
	@ValueSource(strings = { "simple", "simpleBatch" })
	void recordIsProcessedOnceIfASimplerListenerTypeDecoratesTheAdapter(String name) {
		ClaimRequest other = this.app.hold(name, "b", Duration.ofMinutes(5));
		this.app.send(name, "a a b c");
		this.app.start(name);
		Queue<String> seen = this.app.listeners(Listeners.class).seen(name);
		await().atMost(PATIENCE).until(() -> this.app.lag(name) == 2);
		one(this.app.store()).release(other);
		this.app.awaitDone(name);
		assertThat(seen).containsExactly("a", "b", "c");
	}

	private void assertBlockedRecordWaits(String name) {
		assertBlockedRecordWaits(this.app, name);
	}

	private static void assertBlockedRecordWaits(BatchApp app, String name) {
		ClaimRequest other = app.hold(name, "a", Duration.ofMinutes(5));
		app.sendMore(name, "a b");
		AbstractMessageListenerContainer<?, ?> container = (AbstractMessageListenerContainer<?, ?>) app.container(name);
		container.start();
		Queue<String> seen = app.listeners(Listeners.class).seen(name);
		// Waits until the record is blocked, or lost and the next one is processed.
		await().atMost(PATIENCE).until(() -> app.isBlocked(name) || app.lag(name) == 0);
		assertThat(seen).doesNotContain("b");
		assertThat(app.lag(name)).isEqualTo(2);
		one(app.store()).release(other);
		app.awaitDone(name);
		assertThat(seen).endsWith("a", "b");
	}

	private static DefaultErrorHandler impatient() {
		return new DefaultErrorHandler(new FixedBackOff(0, 1));
	}

	private AbstractMessageListenerContainer<?, ?> container(String name) {
		return (AbstractMessageListenerContainer<?, ?>) this.app.container(name);
	}

	@Configuration(proxyBeanMethods = false)
	static class Listeners {

		private final Map<String, Queue<String>> seen = new ConcurrentHashMap<>();

		private final AtomicInteger creations = new AtomicInteger();

		private final ObjectProvider<Listeners> self;

		Listeners(ObjectProvider<Listeners> self) {
			this.self = self;
		}

		// Fails when the consumer of one listener is created a second time.
		@Bean
		DefaultKafkaConsumerFactoryCustomizer secondCreationFails() {
			return (factory) -> factory.addPostProcessor((consumer) -> {
				if (consumer.groupMetadata().groupId().endsWith("-failing") && this.creations.incrementAndGet() == 2) {
					consumer.close();
					throw new KafkaException("No resolvable bootstrap urls");
				}
				return consumer;
			});
		}

		Listeners self() {
			return this.self.getObject();
		}

		@Bean
		static ContainerPostProcessor<String, String, AbstractMessageListenerContainer<String, String>> simpler() {
			return (container) -> {
				@SuppressWarnings("unchecked")
				AcknowledgingConsumerAwareMessageListener<String, String> adapter = (AcknowledgingConsumerAwareMessageListener<String, String>) container
					.getContainerProperties()
					.getMessageListener();
				MessageListener<String, String> simpler = (record) -> adapter.onMessage(record, null, null);
				container.setupMessageListener(simpler);
			};
		}

		@Bean
		static ContainerPostProcessor<String, String, AbstractMessageListenerContainer<String, String>> simplerBatch() {
			return (container) -> {
				@SuppressWarnings("unchecked")
				BatchAcknowledgingConsumerAwareMessageListener<String, String> adapter = (BatchAcknowledgingConsumerAwareMessageListener<String, String>) container
					.getContainerProperties()
					.getMessageListener();
				BatchMessageListener<String, String> simpler = (records) -> adapter.onMessage(records, null, null);
				container.setupMessageListener(simpler);
			};
		}

		@Idempotent(scope = "${prefix}-record")
		@KafkaListener(id = "${prefix}-record", topics = "${prefix}-record")
		void record(String value) {
			seen("record").add(value);
		}

		@Idempotent(scope = "${prefix}-batch")
		@KafkaListener(id = "${prefix}-batch", topics = "${prefix}-batch", batch = "true")
		void batch(List<String> values) {
			seen("batch").addAll(values);
		}

		@Idempotent(scope = "${prefix}-restarted")
		@KafkaListener(id = "${prefix}-restarted", topics = "${prefix}-restarted")
		void restarted(String value) {
			seen("restarted").add(value);
		}

		@Idempotent(scope = "${prefix}-child")
		@KafkaListener(id = "${prefix}-child", topics = "${prefix}-child")
		void child(String value) {
			seen("child").add(value);
		}

		@Idempotent(scope = "${prefix}-replaced")
		@KafkaListener(id = "${prefix}-replaced", topics = "${prefix}-replaced")
		void replaced(String value) {
			seen("replaced").add(value);
		}

		@Idempotent(scope = "${prefix}-kind")
		@KafkaListener(id = "${prefix}-kind", topics = "${prefix}-kind")
		void kind(String value) {
			seen("kind").add(value);
		}

		@Idempotent(scope = "${prefix}-simple")
		@KafkaListener(id = "${prefix}-simple", topics = "${prefix}-simple", containerPostProcessor = "simpler")
		void simple(String value) {
			seen("simple").add(value);
		}

		@Idempotent(scope = "${prefix}-simpleBatch")
		@KafkaListener(id = "${prefix}-simpleBatch", topics = "${prefix}-simpleBatch", batch = "true",
				containerPostProcessor = "simplerBatch")
		void simpleBatch(List<String> values) {
			seen("simpleBatch").addAll(values);
		}

		@Idempotent(scope = "${prefix}-mode")
		@KafkaListener(id = "${prefix}-mode", topics = "${prefix}-mode")
		void mode(String value) {
			seen("mode").add(value);
		}

		@Idempotent(scope = "${prefix}-group")
		@KafkaListener(id = "${prefix}-group", topics = "${prefix}-group")
		void group(String value) {
			seen("group").add(value);
		}

		@Idempotent(scope = "${prefix}-failing")
		@KafkaListener(id = "${prefix}-failing", topics = "${prefix}-failing")
		void failing(String value) {
			seen("failing").add(value);
		}

		Queue<String> seen(String name) {
			return this.seen.computeIfAbsent(name, (unused) -> new ConcurrentLinkedQueue<>());
		}

	}

}
