/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.util.Map;

import org.springframework.beans.factory.DisposableBean;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.core.ProducerFactory;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;

/**
 * Kafka transactions whose manager is not a bean: with such a bean, Boot would not create
 * the transaction manager of the database.
 */
class TracedTransactions implements DisposableBean {

	private final String prefix;

	private final DefaultKafkaProducerFactory<Object, Object> producers;

	private final KafkaTransactionManager<Object, Object> manager;

	private final KafkaTemplate<Object, Object> template;

	TracedTransactions(String prefix, ProducerFactory<?, ?> factory, Trace trace) {
		this.prefix = prefix;
		this.producers = new DefaultKafkaProducerFactory<>(Map.copyOf(factory.getConfigurationProperties()));
		this.producers.setTransactionIdPrefix(prefix);
		this.template = new KafkaTemplate<>(this.producers);
		this.manager = new KafkaTransactionManager<>(this.producers);
		this.manager.addListener(new TransactionExecutionListener() {

			@Override
			public void afterCommit(TransactionExecution transaction, Throwable failure) {
				trace.add("transaction", "commit " + failure);
			}

			@Override
			public void afterRollback(TransactionExecution transaction, Throwable failure) {
				trace.add("transaction", "rollback " + failure);
			}

		});
	}

	KafkaTransactionManager<Object, Object> manager() {
		return this.manager;
	}

	void send(String topic, String value) {
		// Written before the transaction ends, so that there is something to roll back.
		this.template.send(this.prefix + "-" + topic, value).join();
	}

	@Override
	public void destroy() {
		this.producers.destroy();
	}

}
