/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.range;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Deserializer;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
import org.springframework.core.log.LogAccessor;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.support.TopicPartitionOffset;
import org.springframework.kafka.support.serializer.ErrorHandlingDeserializer;
import org.springframework.kafka.support.serializer.SerializationUtils;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.listener.key.ListenerScope;
import dev.idempotency.listener.range.KeyProbe.Answer;
import dev.idempotency.reconcile.ReconciliationRequest;
import dev.idempotency.reconcile.TopicRange;
import dev.idempotency.reconcile.TopicRecord;
import dev.idempotency.template.OffsetPosition;
import dev.idempotency.template.OffsetPosition.TopicIdentity;

/**
 * Reads a range of the topics of a listener with a consumer that is no member of a group,
 * and resolves each record to its operation as the listener does.
 *
 * @param source the listener
 * @param consumer the consumer
 * @param probe resolves the records
 * @param ends the end of each partition
 * @param committed the committed offsets, {@code null} without a group
 * @param left the partitions that are not read to their end
 * @param total the number of offsets in the range
 */
record ListenerRange(ListenerTopics source, Consumer<?, ?> consumer, KeyProbe probe, Map<TopicPartition, Long> ends,
		@Nullable Map<TopicPartition, Long> committed, Set<TopicPartition> left, long total) implements TopicRange {

	private static final LogAccessor logger = new LogAccessor(LogFactory.getLog(ListenerRange.class));

	private static final int RECORDS = 500;

	private static final Duration POLL = Duration.ofSeconds(1);

	private static final Duration TIMEOUT = Duration.ofSeconds(15);

	static ListenerRange open(ListenerTopics source, ConsumerFactory<?, ?> consumers, ReconciliationRequest request) {
		Consumer<?, ?> consumer = consumer(source.properties(), consumers);
		try {
			List<TopicPartition> partitions = partitions(source, consumer, request);
			String group = source.container().getGroupId();
			// Before the end of the range, so that a record that is committed later is
			// looked up later too.
			Map<TopicPartition, Long> committed = (group != null) ? committed(source, group) : null;
			Map<TopicPartition, Long> starts = starts(consumer, partitions, request);
			Map<TopicPartition, Long> ends = new HashMap<>(consumer.endOffsets(partitions));
			if (request.to() != null) {
				offsets(consumer, partitions, request.to())
					.forEach((partition, offset) -> ends.merge(partition, offset, Math::min));
			}
			starts.entrySet().removeIf((start) -> start.getValue() >= ends.getOrDefault(start.getKey(), 0L));
			long total = starts.entrySet()
				.stream()
				.mapToLong((start) -> ends.getOrDefault(start.getKey(), 0L) - start.getValue())
				.sum();
			consumer.assign(starts.keySet());
			starts.forEach(consumer::seek);
			Map<String, UUID> ids = new ConcurrentHashMap<>();
			KeyProbe probe = new KeyProbe(source.listeners(), group, (record) -> new OffsetPosition(record.topic(),
					record.partition(), record.offset(), new Identity(record.topic(), ids, source.topicIds())));
			return new ListenerRange(source, consumer, probe, ends, committed, new HashSet<>(starts.keySet()), total);
		}
		catch (RuntimeException | Error ex) {
			consumer.close(CloseOptions.timeout(Duration.ZERO));
			throw ex;
		}
	}

	// The connection, the credentials and the isolation are those of the container's own
	// consumers. It continues with the oldest record if the broker deletes records.
	private static Consumer<?, ?> consumer(Map<String, Object> properties, ConsumerFactory<?, ?> consumers) {
		Map<String, Object> configuration = new HashMap<>(properties);
		configuration.keySet()
			.removeAll(Set.of(ConsumerConfig.GROUP_ID_CONFIG, ConsumerConfig.GROUP_INSTANCE_ID_CONFIG,
					ConsumerConfig.GROUP_PROTOCOL_CONFIG, ConsumerConfig.GROUP_REMOTE_ASSIGNOR_CONFIG,
					ConsumerConfig.CLIENT_ID_CONFIG, ConsumerConfig.INTERCEPTOR_CLASSES_CONFIG,
					ConsumerConfig.METRIC_REPORTER_CLASSES_CONFIG, ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
					ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG,
					ConsumerConfig.MAX_POLL_INTERVAL_MS_CONFIG, ConsumerConfig.FETCH_MIN_BYTES_CONFIG,
					ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG));
		configuration.putAll(Map.of(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false,
				ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, false, ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
				"earliest", ConsumerConfig.MAX_POLL_RECORDS_CONFIG, RECORDS, ConsumerConfig.FETCH_MAX_WAIT_MS_CONFIG,
				100, ConsumerConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis(),
				ConsumerConfig.REQUEST_TIMEOUT_MS_CONFIG, (int) TIMEOUT.toMillis()));
		return new KafkaConsumer<>(configuration, deserializer(consumers.getKeyDeserializer(), properties, true),
				deserializer(consumers.getValueDeserializer(), properties, false));
	}

	private static Deserializer<?> deserializer(@Nullable Deserializer<?> own, Map<String, Object> properties,
			boolean key) {
		if (own != null) {
			return new TolerantDeserializer<>(own, key);
		}
		String name = key ? ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG
				: ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG;
		Object type = properties.get(name);
		Assert.state(type != null, () -> "The property '" + name + "' of the consumer is missing");
		Class<?> resolved = (type instanceof Class<?> known) ? known
				: ClassUtils.resolveClassName(type.toString().trim(), ClassUtils.getDefaultClassLoader());
		Deserializer<?> created = (Deserializer<?>) BeanUtils.instantiateClass(resolved);
		created.configure(properties, key);
		return new TolerantDeserializer<>(created, key);
	}

	private static List<TopicPartition> partitions(ListenerTopics source, Consumer<?, ?> consumer,
			ReconciliationRequest request) {
		ContainerProperties settings = source.container().getContainerProperties();
		Set<TopicPartition> partitions = new LinkedHashSet<>();
		if (settings.getTopicPartitions() != null) {
			Arrays.stream(settings.getTopicPartitions())
				.map(TopicPartitionOffset::getTopicPartition)
				.forEach(partitions::add);
		}
		else {
			topics(settings, consumer).forEach((topic) -> consumer.partitionsFor(topic)
				.forEach((info) -> partitions.add(new TopicPartition(topic, info.partition()))));
		}
		List<TopicPartition> selected = partitions.stream()
			.filter((partition) -> request.topic() == null || request.topic().equals(partition.topic()))
			.filter((partition) -> request.partition() == null || request.partition() == partition.partition())
			.toList();
		Assert.isTrue(!selected.isEmpty(),
				() -> "The listener '" + source.id() + "' receives no records of "
						+ ((request.partition() != null) ? "partition " + request.partition() + " of " : "")
						+ ((request.topic() != null) ? "the topic '" + request.topic() + "'" : "its topics")
						+ ". It receives records of " + partitions);
		return selected;
	}

	private static Collection<String> topics(ContainerProperties settings, Consumer<?, ?> consumer) {
		Pattern pattern = settings.getTopicPattern();
		if (pattern == null) {
			return new LinkedHashSet<>(ListenerScope.topics(settings));
		}
		return consumer.listTopics().keySet().stream().filter(pattern.asMatchPredicate()).sorted().toList();
	}

	private static Map<TopicPartition, Long> starts(Consumer<?, ?> consumer, List<TopicPartition> partitions,
			ReconciliationRequest request) {
		Map<TopicPartition, Long> starts = new HashMap<>(consumer.beginningOffsets(partitions));
		Long offset = request.fromOffset();
		if (offset != null) {
			starts.replaceAll((partition, beginning) -> Math.max(beginning, offset));
		}
		if (request.from() != null) {
			Map<TopicPartition, Long> from = offsets(consumer, partitions, request.from());
			// A partition without an offset has only older records.
			starts.replaceAll((partition, beginning) -> from.getOrDefault(partition, Long.MAX_VALUE));
		}
		return starts;
	}

	private static Map<TopicPartition, Long> offsets(Consumer<?, ?> consumer, List<TopicPartition> partitions,
			Instant time) {
		Map<TopicPartition, Long> times = partitions.stream()
			.collect(Collectors.toMap((partition) -> partition, (partition) -> time.toEpochMilli()));
		return known(consumer.offsetsForTimes(times), OffsetAndTimestamp::offset);
	}

	// The value of a partition without an offset is null.
	private static <T> Map<TopicPartition, Long> known(Map<TopicPartition, T> found, ToLongFunction<T> offset) {
		Map<TopicPartition, Long> known = new HashMap<>();
		found.forEach((partition, value) -> Optional.ofNullable(value)
			.ifPresent((stored) -> known.put(partition, offset.applyAsLong(stored))));
		return known;
	}

	private static Map<TopicPartition, Long> committed(ListenerTopics source, String group) {
		try {
			return known(
					TopicIds.ask(source.properties(), TIMEOUT,
							(client) -> client.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()),
					OffsetAndMetadata::offset);
		}
		catch (KafkaException ex) {
			throw new KafkaException(
					"the committed offsets of the group '" + group + "' are not known (" + ex.getMessage() + ")", ex);
		}
	}

	@Override
	public List<TopicRecord> next() {
		List<TopicRecord> records = new ArrayList<>();
		try {
			for (ConsumerRecord<?, ?> record : this.consumer.poll(POLL)) {
				if (record.offset() < this.ends.getOrDefault(Coordinates.partition(record), 0L)) {
					records.add(resolve(record));
				}
			}
			List<TopicPartition> done = this.left.stream()
				.filter((partition) -> this.consumer.position(partition) >= this.ends.getOrDefault(partition, 0L))
				.toList();
			this.consumer.pause(done);
			done.forEach(this.left::remove);
		}
		catch (KafkaException ex) {
			throw new IllegalStateException("The topics of the listener '" + this.source.id() + "' cannot be read: "
					+ ex.getMessage() + ". Check the broker", ex);
		}
		return records;
	}

	private TopicRecord resolve(ConsumerRecord<?, ?> record) {
		boolean unreadable = (record.key() == null
				&& hasError(record, SerializationUtils.KEY_DESERIALIZER_EXCEPTION_HEADER))
				|| (record.value() == null && hasError(record, SerializationUtils.VALUE_DESERIALIZER_EXCEPTION_HEADER));
		// The message of the exception may quote the content.
		Answer answer = unreadable ? new Answer(null, "the record cannot be deserialized")
				: this.probe.resolve(record, this.source.listener(), this.consumer);
		boolean consumed = this.committed == null
				|| record.offset() < this.committed.getOrDefault(Coordinates.partition(record), 0L);
		return new TopicRecord(record.topic(), record.partition(), record.offset(), record.timestamp(), consumed,
				answer.target(), answer.problem());
	}

	private static boolean hasError(ConsumerRecord<?, ?> record, String header) {
		return SerializationUtils.getExceptionFromHeader(record, header, logger) != null;
	}

	@Override
	public boolean isComplete() {
		return this.left.isEmpty();
	}

	@Override
	public void close() {
		this.consumer.close(CloseOptions.timeout(Duration.ZERO));
	}

	/**
	 * Keeps an error as a header of its record, so that the records behind it are read.
	 *
	 * @param <T> the type of the deserialized values
	 */
	private static final class TolerantDeserializer<T> extends ErrorHandlingDeserializer<T> {

		TolerantDeserializer(Deserializer<T> delegate, boolean key) {
			super(delegate);
			setForKey(key);
		}

		@Override
		public void close() {
			// The delegate may be one that the consumers of the application use.
		}

	}

	/**
	 * The identity of a topic, which is determined once for a range.
	 *
	 * @param topic the topic
	 * @param known the known ids
	 * @param ids finds the id of a topic
	 */
	private record Identity(String topic, Map<String, UUID> known,
			Function<String, UUID> ids) implements TopicIdentity {

		@Override
		public UUID get() {
			return this.known.computeIfAbsent(this.topic, this.ids);
		}

		@Override
		public void confirm() {
			// Nothing is skipped.
		}

	}

}
