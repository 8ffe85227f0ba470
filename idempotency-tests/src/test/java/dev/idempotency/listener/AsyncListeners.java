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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.boot.kafka.autoconfigure.ConcurrentKafkaListenerContainerFactoryConfigurer;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.ConsumerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.listener.ContainerProperties.AckMode;
import org.springframework.kafka.support.converter.StringJacksonJsonMessageConverter;
import org.springframework.messaging.handler.annotation.SendTo;
import reactor.core.publisher.Mono;

import dev.idempotency.Idempotent;

/**
 * The listeners of {@link AsyncListenerTests}. The scope of each is its name.
 */
class AsyncListeners {

	private final Map<String, Queue<String>> runs = new ConcurrentHashMap<>();

	private final Map<String, CompletableFuture<String>> pending = new ConcurrentHashMap<>();

	volatile boolean broken = true;

	Queue<String> runs(String name) {
		return this.runs.computeIfAbsent(name, (key) -> new ConcurrentLinkedQueue<>());
	}

	/**
	 * Return the result that a value beginning with "later" waits for.
	 * @param value the value
	 * @return the result
	 */
	CompletableFuture<String> signal(String value) {
		return this.pending.computeIfAbsent(value, (key) -> new CompletableFuture<>());
	}

	private CompletableFuture<String> handle(String name, String value) {
		runs(name).add(value);
		if (value.startsWith("later")) {
			return signal(value);
		}
		if (value.startsWith("fails") && this.broken) {
			return CompletableFuture.failedFuture(new IllegalStateException("fails " + value));
		}
		// Usually completes after the method has returned.
		Executor later = CompletableFuture.delayedExecutor(20, TimeUnit.MILLISECONDS);
		return CompletableFuture.supplyAsync(() -> value, later);
	}

	@Bean
	static ConcurrentKafkaListenerContainerFactory<Object, Object> replyFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers,
			ProducerFactory<Object, Object> producers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		KafkaTemplate<Object, Object> replies = new KafkaTemplate<>(producers);
		replies.setMessageConverter(new StringJacksonJsonMessageConverter());
		factory.setReplyTemplate(replies);
		return factory;
	}

	@Bean
	static ConcurrentKafkaListenerContainerFactory<Object, Object> manualFactory(
			ConcurrentKafkaListenerContainerFactoryConfigurer configurer, ConsumerFactory<Object, Object> consumers) {
		ConcurrentKafkaListenerContainerFactory<Object, Object> factory = new ConcurrentKafkaListenerContainerFactory<>();
		configurer.configure(factory, consumers);
		factory.getContainerProperties().setAckMode(AckMode.MANUAL);
		return factory;
	}

	@Idempotent(scope = "future")
	@KafkaListener(topics = "${topic.future}", groupId = "${topic.future}")
	@KafkaListener(topics = "${topic.future}-pending", groupId = "${topic.future}-pending")
	@KafkaListener(topics = "${topic.future}-held", groupId = "${topic.future}-held")
	CompletableFuture<Void> future(ConsumerRecord<String, String> record) {
		return handle("future", record.value()).thenAccept((value) -> {
		});
	}

	@Idempotent(scope = "manual")
	@KafkaListener(topics = "${topic.manual}", groupId = "${topic.manual}", containerFactory = "manualFactory")
	@KafkaListener(topics = "${topic.manual}-pending", groupId = "${topic.manual}-pending",
			containerFactory = "manualFactory")
	@KafkaListener(topics = "${topic.manual}-held", groupId = "${topic.manual}-held",
			containerFactory = "manualFactory")
	CompletableFuture<Void> manual(ConsumerRecord<String, String> record) {
		return handle("manual", record.value()).thenAccept((value) -> {
		});
	}

	@Idempotent(scope = "mono")
	@KafkaListener(topics = "${topic.mono}", groupId = "${topic.mono}")
	@KafkaListener(topics = "${topic.mono}-pending", groupId = "${topic.mono}-pending")
	@KafkaListener(topics = "${topic.mono}-held", groupId = "${topic.mono}-held")
	Mono<String> mono(ConsumerRecord<String, String> record) {
		return Mono.defer(() -> Mono.fromFuture(handle("mono", record.value())));
	}

	@Idempotent(scope = "empty")
	@KafkaListener(topics = "${topic.empty}", groupId = "${topic.empty}")
	@KafkaListener(topics = "${topic.empty}-pending", groupId = "${topic.empty}-pending")
	Mono<Void> empty(ConsumerRecord<String, String> record) {
		return Mono.fromFuture(handle("empty", record.value())).then();
	}

	@Idempotent(scope = "nothing")
	@KafkaListener(topics = "${topic.nothing}", groupId = "${topic.nothing}")
	Mono<String> nothing(ConsumerRecord<String, String> record) {
		runs("nothing").add(record.value());
		return Mono.empty();
	}

	@Idempotent(scope = "receipt")
	@SendTo("${topic.receipt}-out")
	@KafkaListener(topics = "${topic.receipt}", groupId = "${topic.receipt}", containerFactory = "replyFactory")
	CompletableFuture<Receipt> receipt(ConsumerRecord<String, String> record) {
		return handle("receipt", record.value()).thenApply((value) -> new Receipt(value, runs("receipt").size()));
	}

	@Idempotent(scope = "monoReceipt")
	@SendTo("${topic.monoReceipt}-out")
	@KafkaListener(topics = "${topic.monoReceipt}", groupId = "${topic.monoReceipt}", containerFactory = "replyFactory")
	Mono<Receipt> monoReceipt(ConsumerRecord<String, String> record) {
		return Mono.fromFuture(handle("monoReceipt", record.value()))
			.map((value) -> new Receipt(value, runs("monoReceipt").size()));
	}

	@Idempotent(scope = "concurrent")
	@KafkaListener(topics = "${topic.concurrent}", groupId = "${topic.concurrent}", concurrency = "4")
	CompletableFuture<List<String>> concurrent(ConsumerRecord<String, String> record) {
		return handle("concurrent", record.value()).thenApply(List::of);
	}

	@Idempotent(scope = "failing")
	@KafkaListener(topics = "${topic.failing}", groupId = "${topic.failing}")
	CompletableFuture<Void> failing(ConsumerRecord<String, String> record) {
		return handle("failing", record.value()).thenAccept((value) -> {
		});
	}

	@Idempotent(scope = "failingMono")
	@KafkaListener(topics = "${topic.failingMono}", groupId = "${topic.failingMono}")
	Mono<String> failingMono(ConsumerRecord<String, String> record) {
		return Mono.fromFuture(handle("failingMono", record.value()));
	}

	@Idempotent(scope = "lost")
	@KafkaListener(topics = "${topic.lost}", groupId = "${topic.lost}")
	CompletableFuture<String> lost(ConsumerRecord<String, String> record) {
		return handle("lost", record.value());
	}

	@Idempotent(scope = "throwing")
	@KafkaListener(topics = "${topic.throwing}", groupId = "${topic.throwing}")
	CompletableFuture<Void> throwing(ConsumerRecord<String, String> record) {
		runs("throwing").add(record.value());
		if (this.broken) {
			throw new IllegalStateException("fails " + record.value());
		}
		return CompletableFuture.completedFuture(null);
	}

	record Receipt(String id, int number) {
	}

}
