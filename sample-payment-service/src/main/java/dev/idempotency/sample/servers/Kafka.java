/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.servers;

import org.apache.kafka.common.utils.Exit;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.boot.logging.LogLevel;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

/**
 * A Kafka broker in this JVM.
 */
final class Kafka implements DisposableBean {

	private final EmbeddedKafkaKraftBroker broker;

	private Kafka(EmbeddedKafkaKraftBroker broker) {
		this.broker = broker;
	}

	static Kafka start() {
		EmbeddedKafkaKraftBroker broker = new EmbeddedKafkaKraftBroker(1, 1);
		// The default is a system property that would outlive the broker.
		broker.brokerListProperty("sample.servers.kafka");
		// A shutdown hook would delete the files of the broker while listeners are still
		// running. The broker deletes them when it is destroyed.
		Exit.setShutdownHookAdder((name, hook) -> {
		});
		broker.afterPropertiesSet();
		Exit.resetShutdownHookAdder();
		return new Kafka(broker);
	}

	String bootstrapServers() {
		return this.broker.getBrokersAsString();
	}

	@Override
	public void destroy() {
		// The broker closes one of its clients twice and logs a warning about it.
		LoggingSystem.get(getClass().getClassLoader())
			.setLogLevel("org.apache.kafka.clients.NetworkClient", LogLevel.ERROR);
		this.broker.destroy();
	}

}
