/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.util.StringUtils;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;

/**
 * The idempotency scope of the records of a listener method in one container: the scope
 * of the annotation, else {@code <group>/<topic>} of the main endpoint. The default scope
 * does not contain names of classes, so that keys remain known after refactoring and
 * during rolling updates. A topic contains neither {@code /} nor {@code #}, so the group
 * can be parsed from a default scope.
 *
 * @since 0.1.0
 */
public final class ListenerScope {

	// The suffix of the scope of a dead-letter handler. It is not a valid method
	// name, so it differs from the suffix of a @KafkaHandler method.
	static final String DEAD_LETTER = "dead-letter";

	private static final int LONGEST_TOPIC = 249;

	private final String listener;

	private final @Nullable String explicit;

	private final @Nullable String group;

	private final String suffix;

	// The main topics by topic of a retry or dead-letter container, else empty.
	private final Map<String, Set<String>> mainTopics;

	// None for a default scope with a topic pattern.
	private final Set<String> names;

	private final @Nullable Pattern topicPattern;

	private final boolean deadLetter;

	private volatile boolean retried;

	// Whether offsets are compared, and whether the application requires that.
	private volatile boolean comparesOffsets;

	private boolean offsetsRequired;

	private final Map<String, String> scopes = new ConcurrentHashMap<>();

	// The container is the main one, or one of its retry and dead-letter topics. The
	// handler is the name of the method if its class has several.
	public ListenerScope(@Nullable String explicit, @Nullable String handler, MessageListenerContainer main,
			MessageListenerContainer container, boolean deadLetter, String listener) {
		this.listener = listener;
		this.explicit = StringUtils.hasText(explicit) ? explicit : null;
		this.group = main.getGroupId();
		IdempotencyConfigurationException.check(this.explicit != null || this.group != null,
				"The idempotent listener " + listener + " has no consumer group to take its scope from.",
				"Set 'scope' of @Idempotent, or 'groupId' of @KafkaListener.");
		this.suffix = deadLetter ? "#" + DEAD_LETTER : (handler != null) ? "#" + handler : "";
		List<String> topics = topics(main.getContainerProperties());
		this.mainTopics = (main != container) ? mainTopics(topics, topics(container.getContainerProperties()))
				: Map.of();
		this.names = (this.explicit != null) ? Set.of(this.explicit)
				: topics.stream().map(this::name).collect(Collectors.toCollection(LinkedHashSet::new));
		this.topicPattern = main.getContainerProperties().getTopicPattern();
		this.deadLetter = deadLetter;
		check();
	}

	// Spring Kafka derives the topics of a retry container from the main topics, in the
	// same order. A custom naming strategy may map several of them to one retry topic.
	private static Map<String, Set<String>> mainTopics(List<String> main, List<String> own) {
		Map<String, Set<String>> result = new LinkedHashMap<>();
		for (int i = 0; i < own.size() && own.size() == main.size(); i++) {
			result.computeIfAbsent(own.get(i), (topic) -> new LinkedHashSet<>()).add(main.get(i));
		}
		return result;
	}

	// Return the topics of a container that does not subscribe to a pattern.
	public static List<String> topics(ContainerProperties properties) {
		String[] topics = properties.getTopics();
		TopicPartitionOffset[] partitions = properties.getTopicPartitions();
		if (partitions != null) {
			return Stream.of(partitions).map(TopicPartitionOffset::getTopic).toList();
		}
		return (topics != null) ? Arrays.asList(topics) : List.of();
	}

	private void check() {
		for (String scope : this.names.isEmpty() ? Set.of(name("t".repeat(LONGEST_TOPIC))) : this.names) {
			String problem = IdempotencyKey.problem(scope);
			IdempotencyConfigurationException.check(problem == null,
					"The scope of the idempotent listener " + this.listener + " " + problem + ".",
					"Set 'scope' of @Idempotent to a text of up to " + IdempotencyKey.MAX_LENGTH + " characters.");
		}
	}

	private String name(String topic) {
		return this.group + "/" + topic + this.suffix;
	}

	// The names that are known before a record is delivered.
	public Set<String> names() {
		return this.names;
	}

	// Whether a record of this listener may have a stored scope.
	public boolean includes(String scope) {
		if (this.explicit != null || this.topicPattern == null) {
			return this.names.contains(scope);
		}
		String prefix = this.group + "/";
		int end = scope.length() - this.suffix.length();
		return scope.startsWith(prefix) && scope.endsWith(this.suffix) && end > prefix.length()
				&& this.topicPattern.matcher(scope.substring(prefix.length(), end)).matches();
	}

	public boolean isOfGroup(String name) {
		return name.equals(this.group);
	}

	public boolean isOfGroup(ListenerScope other) {
		return Objects.equals(this.group, other.group);
	}

	// The consumer group of a default scope.
	public static @Nullable String group(String scope) {
		int slash = scope.lastIndexOf('/');
		return (slash > 0) ? scope.substring(0, slash) : null;
	}

	// Whether this scope and another one are the same default scope for a
	// common topic.
	public boolean isSameDefault(ListenerScope other) {
		return this.explicit == null && other.explicit == null && isOfGroup(other) && this.suffix.equals(other.suffix);
	}

	// Whether methods with different operations may share the scope by mistake.
	// Methods that share the scope of a group and a topic do so on purpose: Kafka
	// delivers each record to one of them.
	public boolean isNamed() {
		return !this.deadLetter && (this.explicit != null || !this.suffix.isEmpty());
	}

	// The method of this main endpoint also receives the records of a retry topic.
	public void markRetried() {
		this.retried = true;
	}

	// Compare the offsets of the records that have no key.
	public void compareOffsets(boolean required) {
		this.comparesOffsets = true;
		this.offsetsRequired = required;
	}

	// Stop comparing offsets, because another listener with the same scope or a
	// retry topic processes records of the scope in another order. Called before the
	// containers start.
	public void requireKeys(String reason) {
		if (this.comparesOffsets && this.offsetsRequired) {
			throw new IdempotencyConfigurationException(
					"The idempotent listener " + this.listener + " is to recognize its records by their offsets, but "
							+ reason + ".",
					"Identify the records by a key, or set 'onMissingKey' of @Idempotent to RECORD_COORDINATES.");
		}
		this.comparesOffsets = false;
	}

	boolean comparesOffsets() {
		return this.comparesOffsets;
	}

	public String listener() {
		return this.listener;
	}

	public @Nullable String explicitName() {
		return this.explicit;
	}

	// Note the coordinates of a record that failed, because its error handler
	// may publish the record to a retry topic. The copy on the retry topic is
	// then recognized as this record even if its producer has copied headers of
	// another record.
	public void recordFailed(ConsumerRecord<?, ?> record) {
		if (this.retried) {
			RecordCoordinates.note(record);
		}
	}

	// A dead letter is a separate operation whose key is its coordinates.
	public boolean isDeadLetter() {
		return this.deadLetter;
	}

	String of(ConsumerRecord<?, ?> record) {
		if (this.explicit != null) {
			return this.explicit;
		}
		Set<String> mainTopics = this.mainTopics.get(record.topic());
		String topic = (mainTopics != null) ? mainTopic(record, mainTopics) : record.topic();
		String scope = this.scopes.get(topic);
		return (scope != null) ? scope : this.scopes.computeIfAbsent(topic, this::name);
	}

	private static String mainTopic(ConsumerRecord<?, ?> record, Set<String> mainTopics) {
		String original = (mainTopics.size() > 1) ? RecordCoordinates.originalTopic(record, mainTopics) : null;
		return (original != null) ? original : mainTopics.iterator().next();
	}

	// The coordinates of the original of a record, which replace a missing key.
	// Headers are used only on a retry topic of the endpoint, and only if they name
	// a main topic of the endpoint, because producers copy headers to other records.
	String coordinates(ConsumerRecord<?, ?> record) {
		Set<String> mainTopics = this.deadLetter ? null : this.mainTopics.get(record.topic());
		String original = (mainTopics != null) ? RecordCoordinates.original(record, mainTopics) : null;
		return (original != null) ? original : RecordCoordinates.key(record);
	}

	@Override
	public String toString() {
		return "'" + (this.names.isEmpty() ? name("<topic>") : String.join("', '", this.names)) + "'";
	}

}
