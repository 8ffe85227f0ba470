/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.AppInfoParser;
import org.awaitility.Awaitility;
import org.springframework.util.function.SingletonSupplier;

/**
 * Operations of tests on the shared broker.
 */
public final class Kafka {

	public static final String KEY_HEADER = "Idempotency-Key";

	// A producer looks at all partitions that it has ever sent to each
	// time that it sends, so that one for all tests would be slow.
	private static final int TOPICS_PER_PRODUCER = 32;

	private static final Map<String, Producer<String, String>> PRODUCERS = new HashMap<>();

	private static Producer<String, String> producer;

	private static final SingletonSupplier<Admin> ADMIN = SingletonSupplier
		.of(() -> Admin.create(Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString())));

	private Kafka() {
	}

	/**
	 * Whether the producer splits a batch without end that is too large for its topic
	 * (KAFKA-8350), so that its messages time out before the first refusal. Version 4.2
	 * has mended this.
	 * @return whether the client is older
	 */
	public static boolean splitsWithoutEnd() {
		return AppInfoParser.getVersion().startsWith("4.1.");
	}

	/**
	 * Send a value under an idempotency key.
	 * @param topic the topic
	 * @param key the idempotency key, {@code null} for none
	 * @param value the value
	 */
	public static void send(String topic, String key, String value) {
		send(record(topic, 0, key, value));
	}

	public static void send(ProducerRecord<String, String> record) {
		get(sendSoon(record));
	}

	/**
	 * Send a record without waiting for the broker.
	 * @param record the record
	 * @return the future of the broker's acknowledgment
	 */
	public static Future<RecordMetadata> sendSoon(ProducerRecord<String, String> record) {
		return producer(record.topic()).send(record);
	}

	// Always the same for a topic: it keeps the order of the records.
	private static synchronized Producer<String, String> producer(String topic) {
		return PRODUCERS.computeIfAbsent(topic, (name) -> {
			if (PRODUCERS.size() % TOPICS_PER_PRODUCER == 0) {
				producer = new KafkaProducer<>(Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString(),
						"request.timeout.ms", 10_000, "delivery.timeout.ms", 30_000), new StringSerializer(),
						new StringSerializer());
			}
			return producer;
		});
	}

	/**
	 * Send many values, each with its own key.
	 * @param topic the topic
	 * @param partitions the number of its partitions
	 * @param count the number of values
	 */
	public static void sendMany(String topic, int partitions, int count) {
		IntStream.range(0, count)
			.mapToObj((i) -> sendSoon(record(topic, i % partitions, "k" + i, "v" + i)))
			.toList()
			.forEach(Kafka::get);
	}

	public static ProducerRecord<String, String> record(String topic, int partition, String key, String value) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic, partition, null, value);
		if (key != null) {
			record.headers().add(KEY_HEADER, key.getBytes(StandardCharsets.UTF_8));
		}
		return record;
	}

	/**
	 * Return the number of records of a topic that a group has not committed yet.
	 * @param group the group
	 * @param topic the topic
	 * @return the number of records
	 */
	public static long lag(String group, String topic) {
		return lags(group, topic).values().stream().mapToLong(Long::longValue).sum();
	}

	/**
	 * Return the number of records of a topic of another broker that a group has not
	 * committed yet.
	 * @param servers the broker
	 * @param group the group
	 * @param topic the topic
	 * @return the number of records
	 */
	public static long lagAt(String servers, String group, String topic) {
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
			return lags(admin, group, topic).values().stream().mapToLong(Long::longValue).sum();
		}
	}

	private static Map<TopicPartition, Long> lags(String group, String topic) {
		return lags(ADMIN.obtain(), group, topic);
	}

	private static Map<TopicPartition, Long> lags(Admin admin, String group, String topic) {
		Map<TopicPartition, Long> committed = committed(admin, group);
		return ends(admin, topic).entrySet()
			.stream()
			.collect(Collectors.toMap(Map.Entry::getKey,
					(end) -> end.getValue() - committed.getOrDefault(end.getKey(), 0L)));
	}

	/**
	 * Return the offset that a group has committed.
	 * @param group the group
	 * @param topic the topic
	 * @param partition the partition
	 * @return the offset, 0 if there is none
	 */
	public static long committed(String group, String topic, int partition) {
		return committed(group).getOrDefault(new TopicPartition(topic, partition), 0L);
	}

	/**
	 * Return the id of a topic.
	 * @param topic the topic
	 * @return the id
	 */
	public static UUID topicId(String topic) {
		Uuid id = get(
				ADMIN.obtain().describeTopics(List.of(topic)).allTopicNames().toCompletionStage().toCompletableFuture())
			.get(topic)
			.topicId();
		return new UUID(id.getMostSignificantBits(), id.getLeastSignificantBits());
	}

	/**
	 * Make a group that has no members read partition 0 of a topic again.
	 * @param group the group
	 * @param topic the topic
	 */
	public static void rewind(String group, String topic) {
		commit(group, topic, 0);
	}

	/**
	 * Commit an offset of partition 0 of a topic for a group that has no members.
	 * @param group the group
	 * @param topic the topic
	 * @param offset the offset
	 */
	public static void commit(String group, String topic, long offset) {
		commit(group, new TopicPartition(topic, 0), offset);
	}

	/**
	 * Commit an offset for a group that has no members.
	 * @param group the group
	 * @param partition the partition
	 * @param offset the offset
	 */
	public static void commit(String group, TopicPartition partition, long offset) {
		Awaitility.await()
			.ignoreExceptions()
			.until(() -> get(ADMIN.obtain()
				.alterConsumerGroupOffsets(group, Map.of(partition, new OffsetAndMetadata(offset)))
				.all()
				.toCompletionStage()
				.toCompletableFuture()) == null);
	}

	private static Map<TopicPartition, Long> committed(String group) {
		return committed(ADMIN.obtain(), group);
	}

	private static Map<TopicPartition, Long> committed(Admin admin, String group) {
		Map<TopicPartition, OffsetAndMetadata> offsets = get(admin.listConsumerGroupOffsets(group)
			.partitionsToOffsetAndMetadata()
			.toCompletionStage()
			.toCompletableFuture());
		return offsets.entrySet()
			.stream()
			.filter((entry) -> entry.getValue() != null)
			.collect(Collectors.toMap(Map.Entry::getKey, (entry) -> entry.getValue().offset()));
	}

	/**
	 * Return the number of records of a partition that a group has not committed yet.
	 * @param group the group
	 * @param topic the topic
	 * @param partition the partition
	 * @return the number of records
	 */
	public static long lag(String group, String topic, int partition) {
		return lags(group, topic).get(new TopicPartition(topic, partition));
	}

	private static Map<TopicPartition, Long> ends(String topic) {
		return ends(ADMIN.obtain(), topic);
	}

	// The controller knows a new topic before the broker does.
	private static Map<TopicPartition, Long> ends(Admin admin, String topic) {
		return Awaitility.await()
			.ignoreExceptionsMatching((ex) -> ex.getCause() instanceof UnknownTopicOrPartitionException)
			.until(() -> knownEnds(admin, topic), (ends) -> true);
	}

	private static Map<TopicPartition, Long> knownEnds(Admin admin, String topic) {
		int partitions = get(
				admin.describeTopics(List.of(topic)).allTopicNames().toCompletionStage().toCompletableFuture())
			.get(topic)
			.partitions()
			.size();
		Map<TopicPartition, OffsetSpec> latest = IntStream.range(0, partitions)
			.boxed()
			.collect(Collectors.toMap((p) -> new TopicPartition(topic, p), (p) -> OffsetSpec.latest()));
		return get(admin.listOffsets(latest).all().toCompletionStage().toCompletableFuture()).entrySet()
			.stream()
			.collect(Collectors.toMap(Map.Entry::getKey, (entry) -> entry.getValue().offset()));
	}

	/**
	 * Return all records of a topic.
	 * @param topic the topic
	 * @return the records
	 */
	public static List<ConsumerRecord<String, String>> read(String topic) {
		return read(topic, "read_uncommitted");
	}

	/**
	 * Return all records of a topic that are not in an aborted transaction. Waits for
	 * open transactions.
	 * @param topic the topic
	 * @return the records
	 */
	public static List<ConsumerRecord<String, String>> readCommitted(String topic) {
		return read(topic, "read_committed");
	}

	/**
	 * Return all records of a topic of another broker.
	 * @param servers the broker
	 * @param topic the topic
	 * @return the records
	 */
	public static List<ConsumerRecord<String, String>> readFrom(String servers, String topic) {
		try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
			return read(servers, ends(admin, topic), "read_uncommitted");
		}
	}

	private static List<ConsumerRecord<String, String>> read(String topic, String isolation) {
		return read(Servers.kafka().getBrokersAsString(), ends(topic), isolation);
	}

	private static List<ConsumerRecord<String, String>> read(String servers, Map<TopicPartition, Long> ends,
			String isolation) {
		List<ConsumerRecord<String, String>> records = new ArrayList<>();
		try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(
				Map.of("bootstrap.servers", servers, "isolation.level", isolation), new StringDeserializer(),
				new StringDeserializer())) {
			consumer.assign(ends.keySet());
			consumer.seekToBeginning(ends.keySet());
			while (ends.entrySet().stream().anyMatch((end) -> consumer.position(end.getKey()) < end.getValue())) {
				consumer.poll(Duration.ofMillis(100)).forEach(records::add);
			}
		}
		return records;
	}

	private static <T> T get(Future<T> future) {
		try {
			return future.get();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		catch (ExecutionException ex) {
			throw new IllegalStateException(ex.getCause());
		}
	}

}
