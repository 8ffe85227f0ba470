/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.Idempotent;
import dev.idempotency.IdempotentExecution;
import dev.idempotency.MissingKeyPolicy;
import dev.idempotency.Mode;
import dev.idempotency.OperationDeclinedException;

/**
 * The listeners, one for each shape.
 */
final class PaymentListeners {

	private static final String ACCOUNT = "#record.value().split(' ')[0]";

	private static final String VERSION = "#record.value().split(' ')[1]";

	private PaymentListeners() {
	}

	static String output(String topic) {
		return topic + "-charges";
	}

	private static void charge(List<ConsumerRecord<String, String>> payments, Consumer<Charge> charges) {
		List<@Nullable IdempotentExecution> executions = IdempotentExecution.currentBatch();
		for (int i = 0; i < payments.size(); i++) {
			IdempotentExecution execution = Objects.requireNonNull(executions.get(i), "Payments have keys");
			charges.accept(Charge.of(payments.get(i).value(), execution));
		}
	}

	/**
	 * The listener of {@link Shape#RECORD}.
	 */
	static class ByRecord {

		private final ChargeLog charges;

		ByRecord(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void pay(String payment) {
			this.charges.commit(Charge.of(payment, IdempotentExecution.current()));
		}

	}

	/**
	 * The listener of {@link Shape#TRANSACTIONAL}.
	 */
	static class Transactional {

		private final ChargeLog charges;

		Transactional(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void pay(String payment) {
			this.charges.join(Charge.of(payment, IdempotentExecution.current()));
		}

	}

	/**
	 * The listener of {@link Shape#OFFSET}.
	 */
	static class ByOffset {

		private final ChargeLog charges;

		ByOffset(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.TRANSACTIONAL, onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void pay(String payment) {
			this.charges.join(Charge.of(payment, IdempotentExecution.current()));
		}

	}

	/**
	 * The listener of {@link Shape#BATCH_OFFSET}.
	 */
	static class BatchByOffset {

		private final ChargeLog charges;

		BatchByOffset(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.TRANSACTIONAL, onMissingKey = MissingKeyPolicy.OFFSET)
		@KafkaListener(topics = "${topic}", groupId = "${topic}", batch = "true")
		void pay(List<ConsumerRecord<String, String>> payments) {
			charge(payments, this.charges::join);
		}

	}

	/**
	 * The listener of {@link Shape#BATCH}.
	 */
	static class Batch {

		private final ChargeLog charges;

		Batch(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}", batch = "true")
		void pay(List<ConsumerRecord<String, String>> payments) {
			charge(payments, this.charges::commit);
		}

	}

	/**
	 * The listener of {@link Shape#BATCH_TRANSACTIONAL}.
	 */
	static class TransactionalBatch {

		private final ChargeLog charges;

		TransactionalBatch(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${topic}", groupId = "${topic}", batch = "true")
		void pay(List<ConsumerRecord<String, String>> payments) {
			charge(payments, this.charges::join);
		}

	}

	/**
	 * The listener of {@link Shape#ASYNC}.
	 */
	static class Async {

		private final Executor executor = Executors.newFixedThreadPool(4);

		private final ChargeLog charges;

		Async(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		CompletableFuture<Void> pay(String payment) {
			Charge charge = Charge.of(payment, IdempotentExecution.current());
			return CompletableFuture.runAsync(() -> this.charges.commit(charge), this.executor);
		}

	}

	/**
	 * The listener of {@link Shape#ASYNC_FAILING}.
	 */
	static class FailingAsync {

		private static final int FAILING = 50;

		private final Executor executor = Executors.newFixedThreadPool(4);

		private final ChargeLog charges;

		FailingAsync(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		CompletableFuture<Void> pay(String payment) {
			Charge charge = Charge.of(payment, IdempotentExecution.current());
			return CompletableFuture.runAsync(() -> {
				if (charge.attempt() == 1 && Integer.parseInt(charge.payment().substring(1)) % FAILING == 0) {
					throw new IllegalStateException("The gateway has refused the first attempt of " + charge.payment());
				}
				this.charges.commit(charge);
			}, this.executor);
		}

	}

	/**
	 * The listener of {@link Shape#REFUSING}.
	 */
	static class Refusing {

		static final String REFUSED = "refused-";

		private final ChargeLog charges;

		Refusing(ChargeLog charges) {
			this.charges = charges;
		}

		static boolean isRefused(String payment) {
			return payment.endsWith("0");
		}

		@Idempotent(mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void pay(String payment) {
			Charge charge = Charge.of(payment, IdempotentExecution.current());
			this.charges.join(charge);
			if (isRefused(charge.payment())) {
				this.charges.commit(Charge.parse(REFUSED + charge));
				throw new OperationDeclinedException("account closed");
			}
		}

	}

	/**
	 * The listener of {@link Shape#VERSION}.
	 */
	static class ByVersion {

		private final ChargeLog charges;

		ByVersion(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(key = ACCOUNT, version = VERSION, mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void update(String update) {
			this.charges.commit(Charge.of(update, IdempotentExecution.current()));
		}

	}

	/**
	 * The listener of {@link Shape#VERSION_TRANSACTIONAL}.
	 */
	static class TransactionalByVersion {

		private final ChargeLog charges;

		TransactionalByVersion(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(key = ACCOUNT, version = VERSION, mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void update(String update) {
			this.charges.join(Charge.of(update, IdempotentExecution.current()));
		}

	}

	/**
	 * The listener of {@link Shape#BATCH_VERSION}.
	 */
	static class BatchByVersion {

		private final ChargeLog charges;

		BatchByVersion(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(key = ACCOUNT, version = VERSION, mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}", batch = "true")
		void update(List<ConsumerRecord<String, String>> updates) {
			charge(updates, this.charges::commit);
		}

	}

	/**
	 * The listener of {@link Shape#BATCH_VERSION_TRANSACTIONAL}.
	 */
	static class TransactionalBatchByVersion {

		private final ChargeLog charges;

		TransactionalBatchByVersion(ChargeLog charges) {
			this.charges = charges;
		}

		@Idempotent(key = ACCOUNT, version = VERSION, mode = Mode.TRANSACTIONAL)
		@KafkaListener(topics = "${topic}", groupId = "${topic}", batch = "true")
		void update(List<ConsumerRecord<String, String>> updates) {
			charge(updates, this.charges::join);
		}

	}

	/**
	 * The listener of {@link Shape#KAFKA_TRANSACTION}.
	 */
	static class KafkaTransaction {

		private final KafkaTemplate<Object, Object> kafka;

		private final String output;

		KafkaTransaction(KafkaTemplate<Object, Object> kafka, @Value("${topic}") String topic) {
			this.kafka = kafka;
			this.output = output(topic);
		}

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "${topic}", groupId = "${topic}")
		void pay(String payment) {
			this.kafka.send(this.output, Charge.of(payment, IdempotentExecution.current()).toString());
		}

	}

}
