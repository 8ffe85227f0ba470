/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Map;
import java.util.Random;
import java.util.function.BiConsumer;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.jspecify.annotations.Nullable;

import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.Servers;

/**
 * A new topic for payments, with its traffic.
 */
final class PaymentTopic implements AutoCloseable {

	private final String name = Servers.unique("payments-");

	private final @Nullable String bootstrapServers;

	private final @Nullable KafkaProducer<String, String> producer;

	private final PaymentTraffic traffic;

	private PaymentTopic(Random random, @Nullable String bootstrapServers) {
		this.bootstrapServers = bootstrapServers;
		if (bootstrapServers != null) {
			KafkaProducer<String, String> own = new KafkaProducer<>(Map.of("bootstrap.servers", bootstrapServers),
					new StringSerializer(), new StringSerializer());
			this.producer = own;
			this.traffic = new PaymentTraffic(this.name, random, true, own::send);
		}
		else {
			this.producer = null;
			this.traffic = new PaymentTraffic(this.name, random);
		}
	}

	// A topic of the broker that all tests share.
	static PaymentTopic shared(Random random) {
		PaymentTopic topic = new PaymentTopic(random, null);
		Servers.addTopics(PaymentTraffic.PARTITIONS, topic.name);
		return topic;
	}

	/**
	 * Create a topic of another broker.
	 * @param bootstrapServers the addresses of its brokers
	 * @param create creates a topic with a number of partitions
	 * @param random the source of randomness
	 * @return the topic
	 */
	static PaymentTopic of(String bootstrapServers, BiConsumer<String, Integer> create, Random random) {
		PaymentTopic topic = new PaymentTopic(random, bootstrapServers);
		create.accept(topic.name, PaymentTraffic.PARTITIONS);
		return topic;
	}

	String name() {
		return this.name;
	}

	PaymentTraffic traffic() {
		return this.traffic;
	}

	// The number of records that the group of this name has not consumed yet.
	long lag() {
		return (this.bootstrapServers != null) ? Kafka.lagAt(this.bootstrapServers, this.name, this.name)
				: Kafka.lag(this.name, this.name);
	}

	@Override
	public void close() {
		if (this.producer != null) {
			this.producer.close();
		}
	}

}
