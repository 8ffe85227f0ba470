/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.listener.RecordInterceptor;
import org.springframework.util.backoff.FixedBackOff;

import dev.idempotency.template.OperationObserver;

/**
 * An error handler with five immediate retries and a dead-letter topic. It records the
 * deliveries and the outcomes of executions.
 */
@Configuration(proxyBeanMethods = false)
public class DeadLetters implements OperationObserver {

	private final Queue<TopicPartitionOffset> deliveries = new ConcurrentLinkedQueue<>();

	private final Queue<HandledOperation> executions = new ConcurrentLinkedQueue<>();

	@Bean
	DefaultErrorHandler errorHandler(KafkaTemplate<Object, Object> template) {
		return new DefaultErrorHandler(
				new DeadLetterPublishingRecoverer(template,
						(record, ex) -> new TopicPartition(dead(record.topic()), record.partition())),
				new FixedBackOff(0, 5));
	}

	@Bean
	RecordInterceptor<Object, Object> deliveryRecorder() {
		return (record, consumer) -> {
			this.deliveries.add(new TopicPartitionOffset(record.topic(), record.offset()));
			return record;
		};
	}

	@Override
	public void handled(HandledOperation execution) {
		this.executions.add(execution);
	}

	/**
	 * Return the offsets that were delivered.
	 * @param topic the topic
	 * @return the offsets in their order, each as often as it was delivered
	 */
	public List<Long> deliveries(String topic) {
		return this.deliveries.stream()
			.filter((delivery) -> delivery.topic().equals(topic))
			.map(TopicPartitionOffset::offset)
			.toList();
	}

	/**
	 * Return the outcomes of the executions of a listener.
	 * @param listener the name of the listener
	 * @return the outcomes in their order
	 */
	public List<Outcome> outcomes(String listener) {
		return this.executions.stream()
			.filter((execution) -> execution.listener().equals(listener))
			.map(HandledOperation::outcome)
			.toList();
	}

	/**
	 * Create a topic with a dead-letter topic for one test.
	 * @param prefix the beginning of its name
	 * @return its name
	 */
	public static String newTopic(String prefix) {
		String name = Servers.newTopic(prefix, 1);
		Servers.addTopics(1, dead(name));
		return name;
	}

	/**
	 * Return the dead letters of a topic.
	 * @param topic the topic
	 * @return the records
	 */
	public static List<ConsumerRecord<String, String>> read(String topic) {
		return Kafka.read(dead(topic));
	}

	public static String header(ConsumerRecord<?, ?> record, String name) {
		return new String(record.headers().lastHeader(name).value(), StandardCharsets.UTF_8);
	}

	/**
	 * Reset the offsets of a group with the name of its topic and without members.
	 * @param topic the topic
	 */
	public static void rewind(String topic) {
		try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
				Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString(), "group.id", topic),
				new StringDeserializer(), new StringDeserializer())) {
			consumer.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(0)));
		}
	}

	private static String dead(String topic) {
		return topic + "-dead";
	}

	private record TopicPartitionOffset(String topic, long offset) {
	}

}
