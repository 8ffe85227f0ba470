/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.summary;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

import dev.idempotency.sample.ledger.PaymentChargedTopic;
import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Counts pending work: the payments to send, the lag of each consumer group and the
 * events in the outbox. It reads the figures in the order in which a payment passes them,
 * so that it misses no payment.
 */
@Component
class Backlog {

	private static final String UNSENT = """
			select count(*) from payment where not sent
			""";

	private final JdbcClient jdbc;

	private final Admin kafka;

	private final OutboxFigures outbox;

	Backlog(JdbcClient jdbc, Admin kafka, OutboxFigures outbox) {
		this.jdbc = jdbc;
		this.kafka = kafka;
		this.outbox = outbox;
	}

	Map<String, Long> read() {
		Map<String, Long> backlog = new LinkedHashMap<>();
		backlog.put("unsent", this.jdbc.sql(UNSENT).query(Long.class).single());
		long payments = sent(PaymentTopic.NAME);
		List.of("ledger", "ledger-unprotected", "gateway")
			.forEach((group) -> backlog.put(group, payments - consumed(group)));
		backlog.put("outbox", this.outbox.pending());
		backlog.put("statement", sent(PaymentChargedTopic.NAME) - consumed("statement"));
		return backlog;
	}

	private long sent(String name) {
		List<TopicPartition> partitions = await(this.kafka.describeTopics(List.of(name)).allTopicNames()).values()
			.stream()
			.flatMap((topic) -> topic.partitions().stream())
			.map((partition) -> new TopicPartition(name, partition.partition()))
			.toList();
		Map<TopicPartition, OffsetSpec> ends = partitions.stream()
			.collect(Collectors.toMap((partition) -> partition, (partition) -> OffsetSpec.latest()));
		return await(this.kafka.listOffsets(ends).all()).values().stream().mapToLong((end) -> end.offset()).sum();
	}

	private long consumed(String group) {
		return await(this.kafka.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).values()
			.stream()
			.mapToLong((committed) -> committed.offset())
			.sum();
	}

	private <T> T await(KafkaFuture<T> answer) {
		return answer.toCompletionStage().toCompletableFuture().join();
	}

}
