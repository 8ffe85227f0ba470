/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.sample.payment;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.apache.kafka.clients.producer.ProducerRecord;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.stereotype.Component;

import dev.idempotency.sample.payment.Payment.Repeat;

/**
 * Sends stored payments at least once. It marks a payment when the broker has
 * acknowledged its messages. Payments that are not marked are sent again.
 */
@Component
class PaymentSender {

	private static final int CHUNK = 500;

	private final KafkaTemplate<String, PaymentCommand> kafka;

	private final PaymentRepository payments;

	PaymentSender(KafkaTemplate<String, PaymentCommand> kafka, PaymentRepository payments) {
		this.kafka = kafka;
		this.payments = payments;
	}

	void send(List<Payment> payments) {
		dispatch(payments.stream().map(Dispatch::first).toList());
		dispatch(payments.stream().filter((payment) -> payment.repeat() == Repeat.LATER).map(Dispatch::late).toList());
	}

	private void dispatch(List<Dispatch> dispatches) {
		for (int start = 0; start < dispatches.size(); start += CHUNK) {
			List<Dispatch> chunk = dispatches.subList(start, Math.min(start + CHUNK, dispatches.size()));
			int partitions = this.kafka.partitionsFor(PaymentTopic.NAME).size();
			CompletableFuture
				.allOf(chunk.stream()
					.flatMap((dispatch) -> send(dispatch, partitions))
					.toArray(CompletableFuture<?>[]::new))
				.join();
			this.payments.acknowledged(chunk);
		}
	}

	private Stream<CompletableFuture<?>> send(Dispatch dispatch, int partitions) {
		// Copies go to different partitions, so that
		// consumers can process them in parallel.
		int partition = ThreadLocalRandom.current().nextInt(partitions);
		return IntStream.range(partition, partition + dispatch.messages())
			.mapToObj((next) -> this.kafka.send(message(dispatch.command(), next % partitions)));
	}

	private ProducerRecord<String, PaymentCommand> message(PaymentCommand command, int partition) {
		ProducerRecord<String, PaymentCommand> message = new ProducerRecord<>(PaymentTopic.NAME, partition,
				command.account(), command);
		message.headers().add("Idempotency-Key", command.paymentId().toString().getBytes(StandardCharsets.UTF_8));
		return message;
	}

}
