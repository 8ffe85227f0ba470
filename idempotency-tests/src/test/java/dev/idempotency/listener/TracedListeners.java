/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.KafkaHandler;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.annotation.TopicPartition;
import org.springframework.kafka.listener.BatchListenerFailedException;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaNull;
import org.springframework.messaging.handler.annotation.Payload;
import org.springframework.messaging.handler.annotation.SendTo;
import org.springframework.transaction.annotation.Transactional;

/**
 * Listeners without the annotation, one of each kind. The name of a listener is its lane.
 */
@Configuration(proxyBeanMethods = false)
@Import(TracedListeners.ClassListener.class)
class TracedListeners {

	private final Trace trace;

	private final TracedTransactions transactions;

	private final Map<String, Integer> runs = new ConcurrentHashMap<>();

	TracedListeners(Trace trace, TracedTransactions transactions) {
		this.trace = trace;
		this.transactions = transactions;
	}

	@KafkaListener(id = "record", topics = "${prefix}-record", groupId = "${prefix}-record")
	void record(ConsumerRecord<String, String> record, Consumer<?, ?> consumer) {
		this.trace.add("record", "consumer " + consumer.getClass().getName());
		handle(record);
	}

	// Each of the two consumers has its own partition. In a group, the one partition that
	// has records could move from one to the other between two attempts, which are then
	// counted from one again.
	@Transactional
	@KafkaListener(id = "proxied", groupId = "${prefix}-proxied", concurrency = "2",
			topicPartitions = @TopicPartition(topic = "${prefix}-proxied", partitions = { "0", "1" }))
	void proxied(ConsumerRecord<String, String> record) {
		handle(record);
	}

	@KafkaListener(id = "swallowed", topics = "${prefix}-swallowed", groupId = "${prefix}-swallowed",
			errorHandler = "listenerErrorHandler")
	void swallowed(ConsumerRecord<String, String> record) {
		handle(record);
	}

	@KafkaListener(id = "batch", topics = "${prefix}-batch", groupId = "${prefix}-batch", batch = "true")
	void batch(List<ConsumerRecord<String, String>> records) {
		this.trace.add("batch", "batch of " + records.size());
		for (ConsumerRecord<String, String> record : records) {
			try {
				handle(record);
			}
			catch (IllegalStateException ex) {
				throw new BatchListenerFailedException("fails", ex, record);
			}
		}
	}

	@KafkaListener(id = "async", topics = "${prefix}-async", groupId = "${prefix}-async")
	CompletableFuture<Void> async(ConsumerRecord<String, String> record) {
		// None of them fails, because the calls after a failure depend on the timing.
		return CompletableFuture.runAsync(() -> run(record));
	}

	@SendTo("${prefix}-reply-out")
	@KafkaListener(id = "reply", topics = "${prefix}-reply", groupId = "${prefix}-reply")
	String reply(ConsumerRecord<String, String> record) {
		handle(record);
		return "reply to " + record.value();
	}

	@KafkaListener(id = "manual", topics = "${prefix}-manual", groupId = "${prefix}-manual",
			containerFactory = "manualFactory")
	void manual(ConsumerRecord<String, String> record, Acknowledgment acknowledgment) {
		this.trace.add("manual", "acknowledgment " + acknowledgment.getClass().getName());
		if (record.value().equals("ok") && run(record) < 2) {
			acknowledgment.nack(Duration.ofMillis(50));
			return;
		}
		handle(record);
		acknowledgment.acknowledge();
	}

	@KafkaListener(id = "transaction", topics = "${prefix}-transaction", groupId = "${prefix}-transaction",
			containerFactory = "transactionFactory")
	void transaction(ConsumerRecord<String, String> record) {
		this.transactions.send("transaction-out", record.value());
		handle(record);
	}

	@RetryableTopic(attempts = "3", backOff = @BackOff(delay = 100), numPartitions = "1", autoCreateTopics = "true")
	@KafkaListener(id = "retry", topics = "${prefix}-retry", groupId = "${prefix}-retry")
	void retry(ConsumerRecord<String, String> record) {
		handle(record);
	}

	@DltHandler
	void dead(ConsumerRecord<String, String> record) {
		this.trace.add(record, "dead letter");
	}

	private void handle(ConsumerRecord<String, String> record) {
		this.trace.add(record, "handled");
		if (record.value().equals("dead") || (record.value().equals("heals") && run(record) < 2)) {
			throw new IllegalStateException("fails");
		}
	}

	private int run(ConsumerRecord<String, String> record) {
		return this.runs.merge(this.trace.lane(record.topic()) + record.value(), 1, Integer::sum);
	}

	@KafkaListener(id = "class", topics = "${prefix}-class", groupId = "${prefix}-class")
	static class ClassListener {

		private final Trace trace;

		ClassListener(Trace trace) {
			this.trace = trace;
		}

		@KafkaHandler
		void text(String value) {
			this.trace.add("class", "text " + value);
			if (value.equals("dead")) {
				throw new IllegalStateException("fails");
			}
		}

		@KafkaHandler
		void tombstone(@Payload(required = false) KafkaNull nothing) {
			this.trace.add("class", "tombstone");
		}

	}

}
