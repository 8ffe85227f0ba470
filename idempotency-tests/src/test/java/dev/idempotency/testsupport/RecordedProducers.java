/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.producer.Producer;
import org.springframework.boot.kafka.autoconfigure.DefaultKafkaProducerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.ProducerFactory;

/**
 * Records the producers of a factory. As a configuration class, it records those of the
 * application.
 */
public final class RecordedProducers {

	private final Queue<Producer<?, ?>> opened = new ConcurrentLinkedQueue<>();

	private final Queue<Producer<?, ?>> closed = new ConcurrentLinkedQueue<>();

	@Bean
	DefaultKafkaProducerFactoryCustomizer recording() {
		return (factory) -> record(factory);
	}

	/**
	 * Record the producers of a factory from now on.
	 * @param factory the factory
	 * @param <K> the type of its keys
	 * @param <V> the type of its values
	 */
	public <K, V> void record(DefaultKafkaProducerFactory<K, V> factory) {
		factory.addListener(new ProducerFactory.Listener<>() {

			@Override
			public void producerAdded(String id, Producer<K, V> producer) {
				RecordedProducers.this.opened.add(producer);
			}

			@Override
			public void producerRemoved(String id, Producer<K, V> producer) {
				RecordedProducers.this.closed.add(producer);
			}

		});
	}

	public Queue<Producer<?, ?>> opened() {
		return this.opened;
	}

	public Queue<Producer<?, ?>> closed() {
		return this.closed;
	}

}
