/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.kafka.config.KafkaListenerEndpointRegistry;
import org.springframework.kafka.listener.AcknowledgingConsumerAwareMessageListener;
import org.springframework.kafka.listener.MessageListenerContainer;
import org.springframework.util.Assert;

/**
 * Measures one delivery to the message listener of a container that is not started, and
 * thus the work in the process without broker and store.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@SuppressWarnings("NullAway.Init")
public class InProcessBenchmark {

	private static final int RECORDS = 1024;

	/**
	 * The kind of delivery.
	 */
	@Param
	public Delivery delivery;

	private ConfigurableApplicationContext context;

	private AcknowledgingConsumerAwareMessageListener<String, String> listener;

	private ConsumerRecord<String, String>[] records;

	private int next;

	/**
	 * Start the application.
	 */
	@Setup
	@SuppressWarnings("unchecked")
	public void start() {
		this.context = new SpringApplicationBuilder(InProcessApplication.class).web(WebApplicationType.NONE)
			.initializers((created) -> ((GenericApplicationContext) created).registerBean(Delivery.class,
					() -> this.delivery))
			.properties("spring.main.banner-mode=off", "idempotency.cleanup.enabled=false",
					"spring.datasource.url=jdbc:postgresql://localhost/none",
					"idempotency.cache.enabled=" + (this.delivery == Delivery.CACHED))
			.run();
		MessageListenerContainer container = this.context.getBean(KafkaListenerEndpointRegistry.class)
			.getListenerContainer(
					(this.delivery == Delivery.UNPROTECTED) ? BenchmarkListener.LIMIT : BenchmarkListener.PROTECTED);
		Assert.state(container != null, "The application has no listener container with this ID");
		Object target = container.getContainerProperties().getMessageListener();
		Assert.state(target != null, "The container has no listener");
		this.listener = (AcknowledgingConsumerAwareMessageListener<String, String>) target;
		this.records = new ConsumerRecord[RECORDS];
		for (int i = 0; i < RECORDS; i++) {
			this.records[i] = new ConsumerRecord<>("payments", 0, i, null, "x".repeat(100));
			this.records[i].headers()
				.add("Idempotency-Key", UUID.randomUUID().toString().getBytes(StandardCharsets.UTF_8));
		}
	}

	/**
	 * Stop the application.
	 */
	@TearDown
	public void stop() {
		this.context.close();
	}

	/**
	 * Deliver a record.
	 */
	@Benchmark
	public void deliver() {
		this.listener.onMessage(this.records[this.next++ & (RECORDS - 1)], null, null);
	}

	/**
	 * Kinds of deliveries.
	 */
	public enum Delivery {

		/**
		 * Delivery to the unprotected listener.
		 */
		UNPROTECTED("the listener without the library"),

		/**
		 * Delivery of a new key to the protected listener.
		 */
		NEW("a new key"),

		/**
		 * Delivery of a completed key to the protected listener.
		 */
		DUPLICATE("a duplicate"),

		/**
		 * Delivery of a key that the protected listener has cached.
		 */
		CACHED("a cached duplicate");

		private final String label;

		Delivery(String label) {
			this.label = label;
		}

		@Override
		public String toString() {
			return this.label;
		}

	}

}
