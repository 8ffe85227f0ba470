/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.Assert;

/**
 * The running listeners of a context and the offsets that they have committed. A record
 * has ended when each consumer group has committed an offset behind it, whatever its
 * outcome is, and when none of its retry topics still has it.
 */
final class ListenerProgress implements DisposableBean {

	private static final int ADMIN_SECONDS = 30;

	private static final int BROKER_MILLIS = 5_000;

	private static final Duration REBALANCE = Duration.ofSeconds(5);

	private final ObjectProvider<KafkaListenerEndpointRegistry> registries;

	private final KafkaAdmin kafka;

	private final RecordedDeliveries recorded;

	// The listeners of a topic when records were last sent to it.
	private final Map<String, List<MessageListenerContainer>> receivers = new ConcurrentHashMap<>();

	private @Nullable Admin admin;

	private volatile boolean answered;

	ListenerProgress(ObjectProvider<KafkaListenerEndpointRegistry> registries, KafkaAdmin kafka,
			RecordedDeliveries recorded) {
		this.registries = registries;
		this.kafka = kafka;
		this.recorded = recorded;
	}

	/**
	 * Return the running listeners of a topic, without those of retry topics.
	 */
	List<MessageListenerContainer> listeners(String topic) {
		List<MessageListenerContainer> listeners = running().stream()
			.filter((container) -> reads(container.getContainerProperties(), topic))
			.filter((container) -> isMain(container))
			.toList();
		if (listeners.isEmpty()) {
			throw new IllegalStateException("No running listener of this context reads the topic '" + topic
					+ "'. Add the listener to the context of the test, start it, or correct the topic");
		}
		for (MessageListenerContainer listener : listeners) {
			Assert.state(listener.getGroupId() != null, () -> "The listener '" + listener.getListenerId()
					+ "' has no consumer group, so the end of a delivery cannot be seen. Set its 'groupId'");
		}
		return listeners;
	}

	/**
	 * Fail soon if no broker is available. A producer and an administration client would
	 * wait for a minute.
	 */
	void requireBroker() {
		if (this.answered) {
			return;
		}
		try {
			admin().describeCluster(new DescribeClusterOptions().timeoutMs(BROKER_MILLIS)).nodes().get();
			this.answered = true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while a broker was looked for", ex);
		}
		catch (ExecutionException ex) {
			throw new IllegalStateException("No broker is available at "
					+ this.kafka.getConfigurationProperties().get(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG)
					+ ". Add 'spring-boot-starter-kafka-test' to the dependencies and use @IdempotencyTest, which then "
					+ "starts an embedded broker, or annotate the test with @EmbeddedKafka, or start that broker", ex);
		}
	}

	/**
	 * Return how many threads of one consumer group may read a topic.
	 */
	int threads(String topic) {
		Map<String, Integer> threads = new HashMap<>();
		for (MessageListenerContainer listener : listeners(topic)) {
			threads.merge(group(listener), (listener instanceof ConcurrentMessageListenerContainer<?, ?> concurrent)
					? concurrent.getConcurrency() : 1, Integer::sum);
		}
		return threads.values().stream().mapToInt(Integer::intValue).max().orElse(0);
	}

	/**
	 * Wait until each listener of a topic has a partition of it. A record that is sent
	 * earlier might be before the first offset that the listener reads.
	 */
	void awaitAssigned(String topic, Duration timeout) {
		this.receivers.put(topic, listeners(topic));
		await(timeout).untilAsserted(() -> {
			for (MessageListenerContainer listener : listeners(topic)) {
				Collection<TopicPartition> assigned = listener.getAssignedPartitions();
				if (assigned == null || assigned.stream().noneMatch((partition) -> partition.topic().equals(topic))) {
					throw new AssertionError("The listener '" + listener.getListenerId()
							+ "' has no partition of the topic '" + topic + "'");
				}
			}
		});
	}

	/**
	 * Wait until the partitions of a topic are spread over the threads of its listeners,
	 * which takes some time after their start.
	 */
	int awaitSpread(String topic, int partitions) {
		int wanted = Math.min(threads(topic), partitions);
		try {
			await(REBALANCE).until(() -> readers(topic) >= wanted);
		}
		catch (ConditionTimeoutException ex) {
			// An assignor may prefer another spread.
		}
		return readers(topic);
	}

	private int readers(String topic) {
		Map<String, Integer> readers = new HashMap<>();
		for (MessageListenerContainer listener : listeners(topic)) {
			Map<String, Collection<TopicPartition>> assignments = listener.getAssignmentsByClientId();
			int count = (int) ((assignments != null) ? assignments.values().stream()
					: Stream.<Collection<TopicPartition>>empty())
				.filter((partitions) -> partitions.stream().anyMatch((partition) -> partition.topic().equals(topic)))
				.count();
			readers.merge(group(listener), count, Integer::sum);
		}
		return Collections.max(readers.values());
	}

	/**
	 * Wait until the deliveries of records have ended in all listeners of their topics.
	 */
	void awaitEnded(Collection<SentRecord> records, Duration timeout) {
		await(timeout).untilAsserted(() -> {
			for (String topic : topics(records)) {
				for (MessageListenerContainer listener : this.receivers.computeIfAbsent(topic, this::listeners)) {
					Assert.state(listener.isRunning(), () -> "The listener '" + listener.getListenerId()
							+ "' has stopped, so records of the topic '" + topic
							+ "' that were sent before are not delivered to it. Find the reason in the log, or do "
							+ "not stop it before the deliveries have ended");
					requireEnded(listener, records.stream().filter((record) -> record.topic().equals(topic)).toList());
				}
			}
		});
	}

	private void requireEnded(MessageListenerContainer listener, List<SentRecord> records) {
		Map<TopicPartition, OffsetAndMetadata> committed = committed(group(listener));
		for (SentRecord record : records) {
			OffsetAndMetadata offset = committed.get(record.topicPartition());
			if (offset == null || offset.offset() <= record.offset()) {
				throw new AssertionError("The delivery of the record " + record + " to the listener '"
						+ listener.getListenerId() + "' has not ended: its group '" + group(listener)
						+ "' has committed " + ((offset != null) ? "the offset " + offset.offset() : "no offset")
						+ ". The last outcomes are " + lastOutcomes());
			}
		}
		if (!records.stream().allMatch(SentRecord::transactional)) {
			retries(listener).forEach(this::requireDrained);
		}
	}

	// In the order of their registration, which is the order in which a record passes
	// through them: a retry topic has sent a record to the next one before it commits.
	private List<MessageListenerContainer> retries(MessageListenerContainer main) {
		return running().stream()
			.filter((container) -> !isMain(container)
					&& Objects.equals(container.getMainListenerId(), main.getListenerId()))
			.toList();
	}

	private void requireDrained(MessageListenerContainer retry) {
		Map<TopicPartition, OffsetAndMetadata> committed = committed(group(retry));
		String[] topics = retry.getContainerProperties().getTopics();
		ends((topics != null) ? List.of(topics) : List.of()).forEach((partition, end) -> {
			OffsetAndMetadata offset = committed.get(partition);
			if (end.offset() > ((offset != null) ? offset.offset() : 0)) {
				throw new AssertionError("The retry topic " + partition
						+ " has records that have not ended. The last outcomes are " + lastOutcomes());
			}
		});
	}

	private List<String> lastOutcomes() {
		List<String> outcomes = this.recorded.all()
			.stream()
			.map((execution) -> execution.listener() + " " + execution.outcome())
			.toList();
		return outcomes.subList(Math.max(0, outcomes.size() - 5), outcomes.size());
	}

	/**
	 * Stop the listeners of topics and all others in their groups, so that the groups
	 * have no members.
	 */
	List<MessageListenerContainer> stop(Collection<SentRecord> records) {
		Set<String> groups = groups(records);
		List<MessageListenerContainer> stopped = running().stream()
			.filter((container) -> groups.contains(container.getGroupId()))
			.toList();
		stopped.forEach(MessageListenerContainer::stop);
		return stopped;
	}

	/**
	 * Set the committed offsets of the stopped listeners back to records, so that they
	 * are delivered again.
	 */
	void rewind(Set<String> groups, Collection<SentRecord> records, Duration timeout) {
		Map<TopicPartition, OffsetAndMetadata> offsets = records.stream()
			.collect(Collectors.toMap(SentRecord::topicPartition, (record) -> new OffsetAndMetadata(record.offset()),
					(one, other) -> (one.offset() < other.offset()) ? one : other));
		for (String group : groups) {
			// A member that has just left may still be known.
			await(timeout).ignoreExceptions()
				.untilAsserted(() -> get(admin().alterConsumerGroupOffsets(group, offsets).all()));
		}
	}

	Set<String> groups(Collection<SentRecord> records) {
		return topics(records).stream()
			.flatMap((topic) -> listeners(topic).stream())
			.map(ListenerProgress::group)
			.collect(Collectors.toCollection(LinkedHashSet::new));
	}

	private static Set<String> topics(Collection<SentRecord> records) {
		return records.stream().map(SentRecord::topic).collect(Collectors.toCollection(LinkedHashSet::new));
	}

	private static String group(MessageListenerContainer listener) {
		return Objects.requireNonNull(listener.getGroupId());
	}

	private List<MessageListenerContainer> running() {
		List<MessageListenerContainer> running = new ArrayList<>();
		this.registries.forEach((registry) -> running.addAll(registry.getListenerContainers()));
		running.removeIf((container) -> !container.isRunning());
		return running;
	}

	private static boolean isMain(MessageListenerContainer container) {
		String main = container.getMainListenerId();
		return main == null || main.equals(container.getListenerId());
	}

	private static boolean reads(ContainerProperties container, String topic) {
		if (container.getTopicPattern() != null) {
			return container.getTopicPattern().matcher(topic).matches();
		}
		if (container.getTopics() != null) {
			return Arrays.asList(container.getTopics()).contains(topic);
		}
		return container.getTopicPartitions() != null && Arrays.stream(container.getTopicPartitions())
			.anyMatch((partition) -> partition.getTopic().equals(topic));
	}

	private Map<TopicPartition, OffsetAndMetadata> committed(String group) {
		try {
			return get(admin().listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
		}
		catch (GroupIdNotFoundException ex) {
			return Map.of();
		}
	}

	private Map<TopicPartition, ListOffsetsResultInfo> ends(List<String> topics) {
		try {
			Map<String, TopicDescription> descriptions = get(admin().describeTopics(topics).allTopicNames());
			Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
			descriptions.forEach((topic, description) -> description.partitions()
				.forEach((partition) -> latest.put(new TopicPartition(topic, partition.partition()),
						OffsetSpec.latest())));
			return get(admin().listOffsets(latest).all());
		}
		catch (UnknownTopicOrPartitionException ex) {
			// Nothing has been sent to it yet.
			return Map.of();
		}
	}

	private static ConditionFactory await(Duration timeout) {
		return Awaitility.await().atMost(timeout).pollDelay(Duration.ZERO).pollInterval(Duration.ofMillis(50));
	}

	private static <T> T get(KafkaFuture<T> future) {
		try {
			return future.get(ADMIN_SECONDS, TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("Interrupted while Kafka was asked for offsets", ex);
		}
		catch (ExecutionException ex) {
			if (ex.getCause() instanceof RuntimeException cause) {
				throw cause;
			}
			throw new IllegalStateException("Kafka has not answered a request of the test", ex);
		}
		catch (TimeoutException ex) {
			throw new IllegalStateException("Kafka has not answered within " + ADMIN_SECONDS + " s", ex);
		}
	}

	private synchronized Admin admin() {
		if (this.admin == null) {
			this.admin = Admin.create(this.kafka.getConfigurationProperties());
		}
		return this.admin;
	}

	@Override
	public synchronized void destroy() {
		if (this.admin != null) {
			this.admin.close(Duration.ofSeconds(5));
		}
	}

	/**
	 * A record that a test has sent.
	 *
	 * @param topicPartition its topic and partition
	 * @param offset its offset
	 * @param transactional whether it was sent in a transaction. Retry topics then have
	 * offsets without records, so whether they are drained cannot be seen
	 */
	record SentRecord(TopicPartition topicPartition, long offset, boolean transactional) {

		String topic() {
			return this.topicPartition.topic();
		}

		@Override
		public String toString() {
			return this.topicPartition + "@" + this.offset;
		}

	}

}
