/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.regex.Pattern;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.KafkaListenerContainerFactory;
import org.springframework.kafka.config.KafkaListenerEndpoint;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.config.ShareKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.DefaultShareConsumerFactory;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.event.ConsumerStartedEvent;
import org.springframework.kafka.event.ConsumerStartingEvent;
import org.springframework.kafka.listener.AbstractMessageListenerContainer;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.requestreply.ReplyingKafkaTemplate;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.messaging.handler.annotation.SendTo;

import dev.idempotency.Idempotent;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestApp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests that the containers of other listeners work beside an idempotent listener, of
 * whatever kind they are, and are not changed.
 */
@Tag("promise-13")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class OtherContainerTests {

	private static final Queue<String> SEEN = new ConcurrentLinkedQueue<>();

	private final String prefix = Servers.unique("others");

	private ConfigurableApplicationContext context;

	@BeforeAll
	void start() {
		for (String name : new String[] { "-ours", "-share", "-concurrent", "-byhand", "-requests", "-replies" }) {
			Servers.addTopics(1, this.prefix + name);
		}
		this.context = TestApp.of(Listeners.class, Containers.class)
			.with("prefix", this.prefix)
			.with("idempotency.store.type", "in-memory")
			.run();
	}

	@AfterAll
	void stop() {
		this.context.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "ours", "share", "concurrent", "byhand" })
	void containerReceivesRecords(String name) {
		// A share group begins at the end of its topic.
		await().pollInterval(Duration.ofSeconds(1)).until(() -> {
			Kafka.send(this.prefix + "-" + name, "key", name);
			return SEEN.contains(name);
		});
	}

	@Test
	void containerOfAnotherTypeStarts() {
		assertThat(SEEN).contains("own");
	}

	@Test
	@SuppressWarnings("unchecked")
	void replyingTemplateReceivesReplies() throws Exception {
		ReplyingKafkaTemplate<String, String, String> template = this.context.getBean(ReplyingKafkaTemplate.class);
		assertThat(template.waitForAssignment(Duration.ofSeconds(60))).isTrue();
		assertThat(template
			.sendAndReceive(new ProducerRecord<>(this.prefix + "-requests", "request"), Duration.ofSeconds(60))
			.get()
			.value()).isEqualTo("reply to request");
	}

	@Test
	void containersAreNotChanged() {
		assertUnchanged(this.context.getBean(KafkaMessageListenerContainer.class));
		assertUnchanged(
				(AbstractMessageListenerContainer<?, ?>) this.context.getBean(KafkaListenerEndpointRegistry.class)
					.getListenerContainer("concurrent"));
	}

	private static void assertUnchanged(AbstractMessageListenerContainer<?, ?> container) {
		assertThat(container.getCommonErrorHandler()).isNull();
		assertThat(container.getRecordInterceptor()).isNull();
		assertThat(container.getBatchInterceptor()).isNull();
		assertThat(container.getContainerProperties().getMessageListener().getClass().getName())
			.doesNotStartWith("dev.idempotency.listener.delivery");
	}

	static class Listeners {

		@Idempotent
		@KafkaListener(topics = "${prefix}-ours", groupId = "${prefix}-ours")
		void ours(String value) {
			SEEN.add(value);
		}

		@KafkaListener(topics = "${prefix}-share", groupId = "${prefix}-share", containerFactory = "share")
		void share(String value) {
			SEEN.add(value);
		}

		@KafkaListener(id = "concurrent", topics = "${prefix}-concurrent", groupId = "${prefix}-concurrent")
		void concurrent(String value) {
			SEEN.add(value);
		}

		@KafkaListener(topics = "${prefix}-own", groupId = "${prefix}-own", containerFactory = "own")
		void own(String value) {
		}

		@KafkaListener(topics = "${prefix}-requests", groupId = "${prefix}-requests")
		@SendTo
		String request(String value) {
			return "reply to " + value;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Containers {

		@Bean
		ShareKafkaListenerContainerFactory<String, String> share() {
			return new ShareKafkaListenerContainerFactory<>(new DefaultShareConsumerFactory<>(
					Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString(), "key.deserializer",
							StringDeserializer.class, "value.deserializer", StringDeserializer.class)));
		}

		@Bean
		KafkaMessageListenerContainer<Object, Object> byHand(ConsumerFactory<Object, Object> consumers,
				@Value("${prefix}") String prefix) {
			ContainerProperties properties = new ContainerProperties(prefix + "-byhand");
			properties.setGroupId(prefix + "-byhand");
			properties
				.setMessageListener((MessageListener<Object, Object>) (record) -> SEEN.add((String) record.value()));
			return new KafkaMessageListenerContainer<>(consumers, properties);
		}

		@Bean
		ReplyingKafkaTemplate<Object, Object, Object> replying(ProducerFactory<Object, Object> producers,
				ConsumerFactory<Object, Object> consumers, @Value("${prefix}") String prefix) {
			ContainerProperties properties = new ContainerProperties(prefix + "-replies");
			properties.setGroupId(prefix + "-replies");
			return new ReplyingKafkaTemplate<>(producers,
					new ConcurrentMessageListenerContainer<>(consumers, properties));
		}

		@Bean
		OwnFactory own(ApplicationEventPublisher publisher) {
			return new OwnFactory(publisher);
		}

	}

	/**
	 * A container factory of the application.
	 *
	 * @param publisher publishes the events of its containers
	 */
	record OwnFactory(
			ApplicationEventPublisher publisher) implements KafkaListenerContainerFactory<MessageListenerContainer> {

		@Override
		public MessageListenerContainer createListenerContainer(KafkaListenerEndpoint endpoint) {
			return new OwnContainer(this.publisher);
		}

		@Override
		public MessageListenerContainer createContainer(TopicPartitionOffset... partitions) {
			throw new UnsupportedOperationException();
		}

		@Override
		public MessageListenerContainer createContainer(String... topics) {
			throw new UnsupportedOperationException();
		}

		@Override
		public MessageListenerContainer createContainer(Pattern pattern) {
			throw new UnsupportedOperationException();
		}

	}

	/**
	 * A container of the application, which sends the events of Spring Kafka.
	 */
	private static final class OwnContainer implements MessageListenerContainer {

		private final ApplicationEventPublisher publisher;

		private boolean running;

		OwnContainer(ApplicationEventPublisher publisher) {
			this.publisher = publisher;
		}

		@Override
		public void start() {
			this.running = true;
			this.publisher.publishEvent(new ConsumerStartingEvent(this, this));
			this.publisher.publishEvent(new ConsumerStartedEvent(this, this));
			SEEN.add("own");
		}

		@Override
		public void stop() {
			this.running = false;
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		@Override
		public int getPhase() {
			return AbstractMessageListenerContainer.DEFAULT_PHASE;
		}

		@Override
		public void setupMessageListener(Object listener) {
		}

		@Override
		public Map<String, Map<MetricName, ? extends Metric>> metrics() {
			return Map.of();
		}

	}

}
