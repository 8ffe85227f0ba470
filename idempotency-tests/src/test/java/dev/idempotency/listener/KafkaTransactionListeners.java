/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.Idempotent;
import dev.idempotency.OperationDeclinedException;

/**
 * The listeners of {@link KafkaTransactionTests}. The value of a record selects its
 * outcome.
 */
class KafkaTransactionListeners {

	private final KafkaTemplate<String, String> kafka;

	private final CommitHooks hooks;

	private final String prefix;

	private final Map<String, Integer> runs = new ConcurrentHashMap<>();

	final Queue<String> handled = new ConcurrentLinkedQueue<>();

	final Queue<Integer> batches = new ConcurrentLinkedQueue<>();

	KafkaTransactionListeners(KafkaTemplate<String, String> kafka, CommitHooks hooks,
			@Value("${prefix}") String prefix) {
		this.kafka = kafka;
		this.hooks = hooks;
		this.prefix = prefix;
	}

	int runs(String value) {
		return this.runs.getOrDefault(value, 0);
	}

	@Idempotent(scope = "${prefix}", lease = "3s")
	@KafkaListener(topics = "${prefix}-plain", groupId = "${prefix}")
	@KafkaListener(id = "fenced", idIsGroup = false, topics = "${prefix}-fenced", groupId = "${prefix}-fenced")
	@KafkaListener(topics = "${prefix}-rollback", groupId = "${prefix}", containerFactory = "rollbackFactory")
	@KafkaListener(topics = "${prefix}-recovered", groupId = "${prefix}", containerFactory = "recoveredFactory")
	@KafkaListener(topics = "${prefix}-handler", groupId = "${prefix}", containerFactory = "handlerFactory")
	void listen(ConsumerRecord<String, String> record) {
		handle(record.value());
	}

	@Idempotent(scope = "${prefix}")
	@KafkaListener(topics = "${prefix}-large", groupId = "${prefix}", containerFactory = "recoveredFactory")
	String large(ConsumerRecord<String, String> record) {
		handle(record.value());
		return "x".repeat(300_000);
	}

	@Idempotent(scope = "${prefix}")
	@KafkaListener(id = "fenced-batch", idIsGroup = false, topics = "${prefix}-fenced-batch",
			groupId = "${prefix}-fenced-batch", batch = "true")
	@KafkaListener(id = "batch", idIsGroup = false, topics = "${prefix}-batch", groupId = "${prefix}-batch",
			batch = "true", autoStartup = "false")
	void batch(List<ConsumerRecord<String, String>> records) {
		this.batches.add(records.size());
		records.forEach((record) -> handle(record.value()));
	}

	private void handle(String value) {
		int run = this.runs.merge(value, 1, Integer::sum);
		this.handled.add(value);
		this.hooks.began(value);
		this.kafka.send(this.prefix + "-out", value);
		if (value.startsWith("refused") && run == 1) {
			// Larger than the limit of the topic, which only the broker knows.
			this.kafka.send(this.prefix + "-small", "x".repeat(5000));
		}
		if (value.startsWith("fenced") && run == 1) {
			this.hooks.fence();
		}
		if (value.startsWith("declined")) {
			throw new OperationDeclinedException("declined");
		}
		if ((value.startsWith("heals") && run <= 2) || value.startsWith("broken")) {
			throw new IllegalStateException("fails " + value);
		}
	}

}
