/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.util.Map;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;

/**
 * Listener containers that are never started, so they need no broker.
 */
final class Containers {

	private Containers() {
	}

	static MessageListenerContainer of(@Nullable String group, String... topics) {
		return container(group, new ContainerProperties(topics));
	}

	static MessageListenerContainer ofPattern(String group, String pattern) {
		return container(group, new ContainerProperties(Pattern.compile(pattern)));
	}

	static MessageListenerContainer ofPartition(String group, String topic, int partition) {
		return container(group, new ContainerProperties(new TopicPartitionOffset(topic, partition)));
	}

	private static MessageListenerContainer container(@Nullable String group, ContainerProperties properties) {
		properties.setGroupId(group);
		return new KafkaMessageListenerContainer<>(new DefaultKafkaConsumerFactory<>(Map.of()), properties);
	}

}
