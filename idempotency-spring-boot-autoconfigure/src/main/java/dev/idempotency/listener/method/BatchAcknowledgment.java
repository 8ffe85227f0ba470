/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.time.Duration;
import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

import dev.idempotency.listener.delivery.Delivery;

/**
 * The acknowledgment that a batch method receives, in the manual ack modes. Its indexes
 * are those of the records that the method receives. An acknowledgment takes effect when
 * the completions of its records are recorded.
 */
final class BatchAcknowledgment implements Acknowledgment {

	private static final int NONE = -1;

	private final Delivery delivery;

	private final List<Integer> due;

	// The position of the last acknowledged record.
	volatile int acknowledged = NONE;

	// The position of the first record that was negatively acknowledged.
	volatile int nacked = NONE;

	// The delay before the redelivery of negatively acknowledged records.
	volatile Duration sleep = Duration.ZERO;

	// What an acknowledgment does when the method has returned.
	private volatile @Nullable Runnable effect;

	private volatile int passedOn = NONE;

	BatchAcknowledgment(Delivery delivery, List<Integer> due) {
		this.delivery = delivery;
		this.due = due;
	}

	boolean isAcknowledged() {
		return this.acknowledged == this.due.size() - 1;
	}

	void completed() {
		returned(this::passOn);
	}

	// Complete the acknowledged records without passing on the acknowledgment,
	// because other records of the batch are blocked. The offsets of records that
	// the method acknowledges from now on are committed with those of later records.
	void partiallyCompleted() {
		returned(this::complete);
	}

	private void returned(Runnable effect) {
		this.effect = effect;
		if (this.acknowledged != NONE) {
			effect.run();
		}
	}

	private void complete() {
		List<? extends ConsumerRecord<?, ?>> records = this.delivery.records();
		this.delivery.complete(this.due.subList(0, this.acknowledged + 1).stream().map(records::get).toList(), false);
	}

	private void passOn() {
		// The records between two due records are duplicates.
		int size = this.delivery.records().size();
		int end = isAcknowledged() ? size : this.due.get(this.acknowledged + 1);
		if (end == this.passedOn) {
			return;
		}
		// After acknowledge(index), acknowledge() of Spring Kafka before 4.0.8 and 4.1.2
		// acknowledges only one more record.
		boolean whole = end == size && this.passedOn == NONE;
		this.passedOn = end;
		this.delivery.acknowledge(end, whole);
	}

	@Override
	public void acknowledge() {
		acknowledge(this.due.size() - 1);
	}

	@Override
	public void acknowledge(int index) {
		check(index);
		this.acknowledged = Math.max(this.acknowledged, index);
		Runnable current = this.effect;
		if (current != null) {
			current.run();
		}
	}

	@Override
	public void nack(int index, Duration duration) {
		check(index);
		this.sleep = duration;
		this.nacked = index;
	}

	private void check(int index) {
		Assert.isTrue(index >= 0 && index < this.due.size(), () -> "'index' must be that of one of the "
				+ this.due.size() + " records of the batch, but is " + index);
	}

	@Override
	public boolean isOutOfOrderCommit() {
		return this.delivery.isOutOfOrderCommit();
	}

}
