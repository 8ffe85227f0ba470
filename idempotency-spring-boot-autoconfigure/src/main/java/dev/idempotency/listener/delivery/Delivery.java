/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.function.IntFunction;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.springframework.kafka.listener.ListenerExecutionFailedException;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.listener.async.AsyncRetries.AsyncDelivery;
import dev.idempotency.listener.async.DelegatingAcknowledgment;
import dev.idempotency.listener.consumer.ConsumerLocal;
import dev.idempotency.listener.delivery.ContainerAcknowledgments.ConsumerAction;
import dev.idempotency.listener.delivery.ContainerAcknowledgments.UnacknowledgedRecord;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.error.BlockedRecordHandling;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.store.Claim;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.NackedException;
import dev.idempotency.template.PendingCompletion;
import dev.idempotency.template.TransactionBoundary.Deferral;

/**
 * One delivery of a record or a batch to a listener, bound to the thread of the
 * container.
 * <p>
 * In the manual ack modes, an acknowledgment by the running method is held until its
 * completion is recorded: an offset that is committed earlier would lose the record in a
 * crash in between. It has no effect when the method fails or the delivery is blocked.
 */
public final class Delivery {

	/**
	 * Defers the completion of a record until the method has acknowledged it.
	 */
	public static final Deferral UNTIL_ACKNOWLEDGED = new Deferral() {

		@Override
		public boolean isNeeded() {
			Delivery delivery = current();
			return delivery != null && delivery.isUnacknowledged();
		}

		@Override
		public Claim.@Nullable Completed find(IdempotentOperation operation) {
			Delivery delivery = current();
			return (delivery != null) ? delivery.original(operation) : null;
		}

		@Override
		public void defer(PendingCompletion pending) {
			Delivery delivery = current();
			if (delivery != null) {
				delivery.defer(List.of(0), List.of(pending));
			}
		}

	};

	private static final ConsumerLocal<Delivery> CURRENT = new ConsumerLocal<>();

	private final ProtectedListeners listeners;

	// A filter may remove records before the method is called.
	private List<? extends ConsumerRecord<?, ?>> records;

	private boolean rollbackOnly;

	private volatile @Nullable RuntimeException blocked;

	// The following state is used in the manual ack modes
	// only, in which other threads may acknowledge.
	private final @Nullable Acknowledgment delegate;

	private final List<? extends ConsumerRecord<?, ?>> delivered;

	private final ContainerAcknowledgments acknowledgments;

	private final long number;

	// By the index of the record in the batch.
	private volatile Map<Integer, UnacknowledgedRecord> unacknowledged = Map.of();

	// The unacknowledged records of which records of this delivery are copies.
	private volatile List<UnacknowledgedRecord> originals = List.of();

	private volatile boolean held;

	private volatile boolean acknowledged;

	private volatile boolean nacked;

	// Whether a protected method was called or its result was replayed.
	private boolean invoked;

	private boolean duplicate;

	// Whether a delivery inside of this one has decided about the record, because the
	// application has decorated the listener.
	private boolean nested;

	private boolean returned;

	// Whether the invoked method cannot acknowledge.
	private boolean unacknowledging;

	Delivery(ProtectedListeners listeners, List<? extends ConsumerRecord<?, ?>> records,
			@Nullable Acknowledgment acknowledgment) {
		this.listeners = listeners;
		this.records = records;
		this.delegate = acknowledgment;
		this.delivered = (acknowledgment != null) ? List.copyOf(records) : records;
		this.acknowledgments = (acknowledgment != null) ? listeners.acknowledgments() : ContainerAcknowledgments.NONE;
		this.number = (acknowledgment != null) ? this.acknowledgments.begin(this.delivered) : 0;
	}

	public static @Nullable Delivery current() {
		return CURRENT.find();
	}

	static @Nullable Delivery bind(@Nullable Delivery delivery) {
		Delivery previous = CURRENT.find();
		CURRENT.set(delivery);
		return previous;
	}

	// The application may have decorated a protected listener with one of its own, which
	// may swallow exceptions.
	static void unbind(Delivery delivery, @Nullable Delivery previous) {
		CURRENT.set(previous);
		if (previous != null) {
			previous.nested |= delivery.returned;
		}
		if (previous != null && delivery.blocked != null) {
			previous.block(delivery.blocked);
		}
	}

	// Return whether the method that has just returned on this thread has set its
	// own transaction to rollback-only, and reset the mark.
	public static boolean takeRollbackOnly() {
		Delivery delivery = CURRENT.find();
		if (delivery != null && delivery.rollbackOnly) {
			delivery.rollbackOnly = false;
			return true;
		}
		return false;
	}

	public void setRollbackOnly(boolean rollbackOnly) {
		this.rollbackOnly = rollbackOnly;
	}

	public @Nullable ProtectedListener listener(Method method) {
		ProtectedListener listener = this.listeners.get(method);
		this.invoked |= listener != null;
		this.unacknowledging |= listener != null && !listener.acknowledging();
		return listener;
	}

	public ConsumerRecord<?, ?> record() {
		return this.records.get(0);
	}

	public List<? extends ConsumerRecord<?, ?>> records() {
		return this.records;
	}

	// Copy the records that the method is about to receive, because the method may
	// change its arguments.
	public List<? extends ConsumerRecord<?, ?>> freeze() {
		this.records = List.copyOf(this.records);
		return this.records;
	}

	// Block the delivery, so that its records are redelivered. Acknowledgments have
	// no effect until unblock(), whatever an error handler of the application does.
	void block(RuntimeException reason) {
		this.blocked = reason;
	}

	public void block(OperationBlockedException reason, @Nullable IdempotencyKey operation, ListenerSettings settings) {
		block(reason);
		this.listeners.blockedRecords().blocked(record(), operation, reason, settings);
	}

	// Block the first blocked record of each partition.
	public void block(RuntimeException reason, SortedMap<Integer, OperationBlockedException> first,
			IntFunction<@Nullable IdempotencyKey> keys, ListenerSettings settings) {
		block(reason);
		List<TopicPartition> partitions = first.keySet()
			.stream()
			.map(this.records::get)
			.map(Coordinates::partition)
			.toList();
		this.listeners.blockedRecords()
			.passed(this.records.stream().filter((one) -> !partitions.contains(Coordinates.partition(one))).toList());
		first.forEach((index, why) -> this.listeners.blockedRecords()
			.blocked(this.records.get(index), keys.apply(index), why, settings));
	}

	// A retry around the method calls it again in the same delivery.
	public void unblock() {
		this.blocked = null;
	}

	public @Nullable RuntimeException blocked() {
		return this.blocked;
	}

	// An error handler of the listener may have swallowed the exception. The record must
	// not be acknowledged nevertheless.
	void rethrowIfBlocked() {
		if (this.blocked != null) {
			throw this.blocked;
		}
	}

	@Nullable Acknowledgment acknowledgment() {
		return (this.delegate != null) ? new HeldAcknowledgment(this.delegate) : null;
	}

	public boolean hasAcknowledgment() {
		return this.delegate != null;
	}

	public boolean isOutOfOrderCommit() {
		return this.delegate != null && this.delegate.isOutOfOrderCommit();
	}

	// Hold an acknowledgment of the protected method, which is about to run.
	public void begin() {
		if (this.delegate != null) {
			this.acknowledged = false;
			this.held = true;
		}
	}

	public void end() {
		this.held = false;
	}

	// An acknowledgment by a method that fails has no effect.
	public void failed() {
		if (this.held) {
			this.acknowledged = false;
		}
	}

	public void completed(boolean duplicate) {
		end();
		this.duplicate = duplicate;
		if (this.delegate != null && this.acknowledged) {
			passOn(this.delegate);
		}
		else if (this.delegate != null && duplicate) {
			this.acknowledgments.acknowledgeDuplicates(this.delivered, this.number, this.originals,
					this.delegate.isOutOfOrderCommit(), this.delegate::acknowledge);
		}
	}

	public void declined(boolean duplicate) {
		// The method was left by an exception, and may not have acknowledged the record.
		this.acknowledged = this.delegate != null && !duplicate;
		completed(duplicate);
	}

	// Note that the asynchronous result of the record is about to fail.
	public void failing() {
		if (this.delegate instanceof AsyncDelivery async) {
			async.failing();
		}
	}

	// Note that the asynchronous method has failed after the application had
	// completed its result.
	public void failedLate(Throwable error) {
		if (this.delegate instanceof AsyncDelivery async) {
			async.failedLate(
					(error instanceof RuntimeException exception) ? exception : new ListenerExecutionFailedException(
							"The method has failed after its result was completed", error));
		}
	}

	// Note that the listener adapter may have handled the asynchronous result of the
	// record on this thread.
	public void endAsync() {
		if (this.delegate instanceof AsyncDelivery) {
			this.listeners.asyncRetries().end();
		}
	}

	private void passOn(Acknowledgment acknowledgment) {
		this.acknowledgments.acknowledge(this.delivered, this.number, this.unacknowledged.values(), this.originals,
				acknowledgment.isOutOfOrderCommit() && this.delivered.size() == 1, acknowledgment::acknowledge);
	}

	// Note that the listener has returned for a record. If no method has acknowledged it,
	// a duplicate behind it must not be acknowledged either: its commit would pass the
	// record. A record that a filter may have dropped needs no acknowledgment.
	void returned(boolean filtering) {
		this.returned = true;
		if (this.delegate == null || this.delegate instanceof AsyncDelivery || !this.listeners.acknowledging()
				|| this.nested || this.unacknowledging || this.duplicate || this.nacked || this.acknowledged
				|| !this.unacknowledged.isEmpty() || (filtering && !this.invoked)) {
			return;
		}
		deferUnprotected(List.of(0));
		// Another thread may have acknowledged it meanwhile.
		if (this.acknowledged) {
			passOn(this.delegate);
		}
	}

	// Note records that have run without protection and are not acknowledged.
	public void deferUnprotected(List<Integer> indexes) {
		if (this.listeners.acknowledging() && !indexes.isEmpty()) {
			Map<Integer, UnacknowledgedRecord> more = new LinkedHashMap<>(this.unacknowledged);
			indexes.forEach((index) -> more.put(index, this.acknowledgments.add(this.records.get(index), null)));
			this.unacknowledged = more;
		}
	}

	// The list of delivered records also has those that a filter has removed.
	private int deliveredIndex(int index) {
		if (index == this.records.size()) {
			return this.delivered.size();
		}
		ConsumerRecord<?, ?> record = this.records.get(index);
		int position = index;
		while (!Coordinates.isSame(this.delivered.get(position), record)) {
			position++;
		}
		return position;
	}

	public void acknowledge(int end, boolean whole) {
		Acknowledgment acknowledgment = this.delegate;
		if (acknowledgment == null || this.blocked != null) {
			return;
		}
		List<UnacknowledgedRecord> own = this.unacknowledged.entrySet()
			.stream()
			.filter((record) -> record.getKey() < end)
			.map(Map.Entry::getValue)
			.toList();
		// A filter removes records from the list whose indexes the container counts.
		this.acknowledgments.acknowledge(whole ? this.delivered : this.records.subList(0, end), this.number, own,
				this.originals, false, whole ? acknowledgment::acknowledge
						: new ConsumerAction(Thread.currentThread(), () -> acknowledgment.acknowledge(end - 1)));
	}

	// Complete records whose offsets are committed without an acknowledgment,
	// although an earlier record of their partition may not be acknowledged.
	public void complete(List<? extends ConsumerRecord<?, ?>> covered, boolean committed) {
		this.acknowledgments.complete(covered, committed);
	}

	// Complete the records before one at which the container commits the offsets.
	public void completeBefore(int index) {
		complete(this.delivered.subList(0, deliveredIndex(index)), true);
	}

	public boolean isDeferred(int index) {
		return this.unacknowledged.containsKey(index);
	}

	public boolean isUnacknowledged() {
		return this.delegate != null && !this.acknowledged;
	}

	public Set<TopicPartition> unacknowledgedPartitions() {
		return this.acknowledgments.unacknowledgedPartitions();
	}

	public void defer(List<Integer> indexes, List<PendingCompletion> pending) {
		Map<Integer, UnacknowledgedRecord> more = new LinkedHashMap<>(this.unacknowledged);
		for (int i = 0; i < indexes.size(); i++) {
			ConsumerRecord<?, ?> record = this.records.get(indexes.get(i));
			more.put(indexes.get(i), this.acknowledgments.add(record, pending.get(i)));
		}
		this.unacknowledged = more;
	}

	// Look up the pending completion of an unacknowledged record with the same
	// operation. This record would have its claim, and could block its acknowledgment.
	public Claim.@Nullable Completed original(IdempotentOperation operation) {
		UnacknowledgedRecord original = this.acknowledgments.originals.get(operation.key());
		PendingCompletion pending = (original != null) ? original.pending : null;
		Claim.Completed known = (pending != null) ? pending.find(operation) : null;
		if (known != null) {
			List<UnacknowledgedRecord> more = new ArrayList<>(this.originals);
			more.add(original);
			this.originals = more;
		}
		return known;
	}

	public void checkNotNacked() {
		if (this.nacked) {
			throw new NackedException();
		}
	}

	public void nack(int index, Duration sleep) {
		if (this.delegate != null) {
			completeBefore(index);
			BlockedRecordHandling.beginNack();
			// Here, the container counts the records that a filter has removed, too.
			this.delegate.nack(deliveredIndex(index), sleep);
			this.nacked = true;
		}
	}

	private final class HeldAcknowledgment extends DelegatingAcknowledgment {

		HeldAcknowledgment(Acknowledgment delegate) {
			super(delegate);
		}

		@Override
		public void acknowledge() {
			Delivery.this.acknowledged = true;
			if (this.delegate instanceof AsyncDelivery async && async.isFailing()) {
				async.acknowledge();
			}
			else if (!Delivery.this.held && Delivery.this.blocked == null) {
				passOn(this.delegate);
			}
			else if (!Delivery.this.held && !Delivery.this.unacknowledged.isEmpty()) {
				// Another partition is blocked. A later delivery commits the offsets.
				complete(Delivery.this.unacknowledged.keySet().stream().map(Delivery.this.records::get).toList(),
						false);
			}
		}

		@Override
		public void nack(Duration sleep) {
			BlockedRecordHandling.beginNack();
			super.nack(sleep);
			Delivery.this.nacked = true;
			BlockedRecordHandling.keep(record());
		}

		@Override
		public void acknowledge(int index) {
			checkIndex();
			if (Delivery.this.blocked == null) {
				this.delegate.acknowledge(index);
			}
		}

		@Override
		public void nack(int index, Duration sleep) {
			checkIndex();
			BlockedRecordHandling.beginNack();
			this.delegate.nack(index, sleep);
			Delivery.this.nacked = true;
		}

		// The index counts the delivered records, but the method receives only those that
		// are due.
		private void checkIndex() {
			Assert.state(!Delivery.this.held, "The Acknowledgment of a header does not support indexes in an "
					+ "idempotent batch listener. Declare an Acknowledgment parameter");
		}

	}

}
