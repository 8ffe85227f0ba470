/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * The lag of a consumer group: the number of records whose offset it has not committed. A
 * partition without a committed offset counts from its first record. Each call to the
 * broker takes 10 seconds at most.
 * <p>
 * The lag of a topic that is written by transactions may never become 0, because their
 * markers have offsets, too. Use a query of the effects instead.
 *
 * @since 0.1.0
 */
public final class ConsumerLag implements PendingQuery, AutoCloseable {

	private static final int TIMEOUT_MILLIS = 10_000;

	private final Admin admin;

	private final String group;

	private final List<String> topics;

	/**
	 * Create a client.
	 * @param bootstrapServers the brokers
	 * @param group the consumer group
	 * @param topics the topics
	 */
	public ConsumerLag(String bootstrapServers, String group, String... topics) {
		this(Map.of(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers), group, topics);
	}

	/**
	 * Create a client with properties of its own, for example for a broker that requires
	 * authentication.
	 * @param properties the properties of Kafka's admin client
	 * @param group the consumer group
	 * @param topics the topics
	 */
	public ConsumerLag(Map<String, Object> properties, String group, String... topics) {
		Map<String, Object> all = new HashMap<>();
		all.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, TIMEOUT_MILLIS);
		all.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, TIMEOUT_MILLIS / 2);
		all.putAll(properties);
		this.admin = Admin.create(all);
		this.group = group;
		this.topics = List.of(topics);
	}

	@Override
	public long count() throws Exception {
		// Committed offsets first: the lag may be too large, but is never too small.
		Map<TopicPartition, OffsetAndMetadata> committed = get(
				this.admin.listConsumerGroupOffsets(this.group).partitionsToOffsetAndMetadata());
		Map<TopicPartition, OffsetSpec> ends = new HashMap<>();
		Map<TopicPartition, OffsetSpec> beginnings = new HashMap<>();
		get(this.admin.describeTopics(this.topics).allTopicNames())
			.forEach((name, topic) -> topic.partitions().forEach((partition) -> {
				TopicPartition key = new TopicPartition(name, partition.partition());
				ends.put(key, OffsetSpec.latest());
				if (committed.get(key) == null) {
					beginnings.put(key, OffsetSpec.earliest());
				}
			}));
		return sum(ends) - sum(beginnings)
				- ends.keySet().stream().mapToLong((partition) -> offset(committed.get(partition))).sum();
	}

	private long sum(Map<TopicPartition, OffsetSpec> offsets) throws Exception {
		return offsets.isEmpty() ? 0
				: get(this.admin.listOffsets(offsets).all()).values()
					.stream()
					.mapToLong((partition) -> partition.offset())
					.sum();
	}

	private static long offset(@Nullable OffsetAndMetadata committed) {
		return (committed != null) ? committed.offset() : 0;
	}

	private static <T> T get(KafkaFuture<T> future) throws Exception {
		return future.get(TIMEOUT_MILLIS, TimeUnit.MILLISECONDS);
	}

	@Override
	public void close() {
		this.admin.close();
	}

}
