/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.ProducerPostProcessor;
import org.springframework.test.util.ReflectionTestUtils;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.Servers;

import static dev.idempotency.contract.OneKey.one;

/**
 * Decorates the producers of {@link KafkaTransactionTests}: records the state of a key
 * directly after the commit of its transaction, makes commits fail with an unknown
 * outcome, and fences producers.
 */
class CommitHooks implements ProducerPostProcessor<Object, Object> {

	private final Map<Thread, String> values = new ConcurrentHashMap<>();

	private final Map<Thread, String> transactionalIds = new ConcurrentHashMap<>();

	private final Map<String, Queue<String>> states = new ConcurrentHashMap<>();

	private volatile IdempotencyStore store;

	private volatile String scope;

	void look(IdempotencyStore someStore, String someScope) {
		this.store = someStore;
		this.scope = someScope;
	}

	/**
	 * Return the states of a record around the commit.
	 * @param value the value of the record
	 * @return its states before and after the commit of the broker
	 */
	Queue<String> states(String value) {
		return this.states.computeIfAbsent(value, (key) -> new ConcurrentLinkedQueue<>());
	}

	void began(String value) {
		this.values.put(Thread.currentThread(), value);
	}

	/**
	 * Fence the producer, as another instance with the same transactional id does.
	 */
	void fence() {
		try (Producer<String, String> other = new KafkaProducer<>(
				Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString(), "transactional.id",
						this.transactionalIds.get(Thread.currentThread())),
				new StringSerializer(), new StringSerializer())) {
			other.initTransactions();
		}
	}

	@Override
	@SuppressWarnings("unchecked")
	public Producer<Object, Object> apply(Producer<Object, Object> producer) {
		String transactionalId = ((ProducerConfig) ReflectionTestUtils.getField(producer, "producerConfig"))
			.getString("transactional.id");
		return (Producer<Object, Object>) Proxy.newProxyInstance(getClass().getClassLoader(),
				new Class<?>[] { Producer.class },
				(proxy, method, arguments) -> invoke(producer, transactionalId, method, arguments));
	}

	private Object invoke(Producer<Object, Object> producer, String transactionalId, Method method, Object[] arguments)
			throws Throwable {
		if (method.getName().equals("beginTransaction")) {
			this.transactionalIds.put(Thread.currentThread(), transactionalId);
			this.values.remove(Thread.currentThread());
		}
		String value = method.getName().equals("commitTransaction") ? this.values.get(Thread.currentThread()) : null;
		if (value != null) {
			look(value);
		}
		if (value != null && value.startsWith("timeout") && states(value).size() == 1) {
			producer.abortTransaction();
			throw new TimeoutException("The outcome of the commit is unknown");
		}
		if (value != null && value.startsWith("late") && states(value).size() == 1) {
			fence();
		}
		try {
			Object result = method.invoke(producer, arguments);
			if (value != null) {
				look(value);
			}
			return result;
		}
		catch (InvocationTargetException ex) {
			throw ex.getCause();
		}
	}

	private void look(String value) {
		one(this.store).find(IdempotencyKey.of(this.scope, value))
			.ifPresent((record) -> states(value).add(record.state().name()));
	}

}
