/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.util.Assert;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.testsupport.Kafka;
import dev.idempotency.testsupport.TestApp;

/**
 * The ways in which listeners process payments.
 */
enum Shape {

	/**
	 * Single records in leased mode.
	 */
	RECORD(PaymentListeners.ByRecord.class),

	/**
	 * Single records in transactional mode.
	 */
	TRANSACTIONAL(PaymentListeners.Transactional.class),

	/**
	 * Single records in transactional mode, recognized by their offsets.
	 */
	OFFSET(PaymentListeners.ByOffset.class) {

		@Override
		boolean recognizesCopies() {
			return false;
		}

	},

	/**
	 * Batches in transactional mode, recognized by their offsets.
	 */
	BATCH_OFFSET(PaymentListeners.BatchByOffset.class) {

		@Override
		boolean recognizesCopies() {
			return false;
		}

		@Override
		int speed() {
			return BATCH_SPEED;
		}

	},

	/**
	 * Batches in leased mode.
	 */
	BATCH(PaymentListeners.Batch.class) {

		@Override
		int openPerThread() {
			return MAX_POLL_RECORDS;
		}

		@Override
		int speed() {
			return BATCH_SPEED;
		}

	},

	/**
	 * Batches in transactional mode.
	 */
	BATCH_TRANSACTIONAL(PaymentListeners.TransactionalBatch.class) {

		@Override
		int speed() {
			return BATCH_SPEED;
		}

	},

	/**
	 * Single records in leased mode, completed by other threads.
	 */
	ASYNC(PaymentListeners.Async.class) {

		@Override
		int openPerThread() {
			return MAX_POLL_RECORDS;
		}

	},

	/**
	 * Single records in leased mode, completed by other threads. Two of a hundred results
	 * fail before the effect at the first attempt.
	 */
	ASYNC_FAILING(PaymentListeners.FailingAsync.class) {

		@Override
		int openPerThread() {
			return MAX_POLL_RECORDS;
		}

	},

	/**
	 * Single records in transactional mode. Every tenth payment is refused for good,
	 * after a charge that is rolled back.
	 */
	REFUSING(PaymentListeners.Refusing.class) {

		@Override
		List<Charge> charges(String topic, JdbcTemplate jdbc) {
			// A copy may be refused before the refusal of the first one is committed.
			Set<String> refusals = new HashSet<>();
			return super.charges(topic, jdbc).stream().map((charge) -> {
				String payment = charge.payment().replace(PaymentListeners.Refusing.REFUSED, "");
				boolean refused = !payment.equals(charge.payment());
				Assert.state(PaymentListeners.Refusing.isRefused(payment) == refused,
						() -> charge + " was not refused, or its charge was not rolled back");
				return new Charge(payment, charge.amount(), charge.process(), charge.fence(), charge.attempt());
			})
				.filter((charge) -> !PaymentListeners.Refusing.isRefused(charge.payment())
						|| refusals.add(charge.payment()))
				.toList();
		}

	},

	/**
	 * Versions of accounts in leased mode.
	 */
	VERSION(PaymentListeners.ByVersion.class),

	/**
	 * Versions of accounts in transactional mode.
	 */
	VERSION_TRANSACTIONAL(PaymentListeners.TransactionalByVersion.class),

	/**
	 * Batches of versions of accounts in leased mode.
	 */
	BATCH_VERSION(PaymentListeners.BatchByVersion.class) {

		@Override
		int speed() {
			return BATCH_SPEED;
		}

	},

	/**
	 * Batches of versions of accounts in transactional mode.
	 */
	BATCH_VERSION_TRANSACTIONAL(PaymentListeners.TransactionalBatchByVersion.class) {

		@Override
		int speed() {
			return BATCH_SPEED;
		}

	},

	/**
	 * Single records in leased mode, in a Kafka transaction.
	 */
	KAFKA_TRANSACTION(PaymentListeners.KafkaTransaction.class) {

		@Override
		TestApp configure(TestApp app) {
			// Aborts the transactions of a killed
			// producer before the default of a minute.
			return super.configure(app).with("spring.kafka.producer.transaction-id-prefix", "${random.uuid}-")
				.with("spring.kafka.producer.properties.transaction.timeout.ms", 5000);
		}

		@Override
		String window() {
			return "the Kafka transaction was committed, but the process was killed before it recorded the completion";
		}

		@Override
		List<Charge> charges(String topic, JdbcTemplate jdbc) {
			return Kafka.readCommitted(PaymentListeners.output(topic))
				.stream()
				.map(ConsumerRecord::value)
				.map(Charge::parse)
				.toList();
		}

	};

	// Small, because an eager rebalance waits for the records of a poll.
	static final int MAX_POLL_RECORDS = 50;

	private static final int BATCH_SPEED = 5;

	private final Class<?> listener;

	Shape(Class<?> listener) {
		this.listener = listener;
	}

	Class<?> listener() {
		return this.listener;
	}

	TestApp configure(TestApp app) {
		return app.with("shape", name()).with("spring.kafka.consumer.max-poll-records", MAX_POLL_RECORDS);
	}

	List<Charge> charges(String topic, JdbcTemplate jdbc) {
		return ChargeLog.read(jdbc);
	}

	// Whether a kill leaves nothing open.
	boolean isTransactional() {
		return Arrays.stream(this.listener.getDeclaredMethods())
			.map((method) -> method.getAnnotation(Idempotent.class))
			.anyMatch((annotation) -> annotation != null && annotation.mode() == Mode.TRANSACTIONAL);
	}

	// The number of payments that a consumer thread may have charged but not completed.
	int openPerThread() {
		return 1;
	}

	// Whether a payment that is sent twice is charged once.
	boolean recognizesCopies() {
		return true;
	}

	// The reason why a payment can be charged again.
	String window() {
		return "the payment was charged, but the process was killed before it recorded the completion";
	}

	// The speed compared with single records, for the number of payments per round.
	int speed() {
		return 1;
	}

}
