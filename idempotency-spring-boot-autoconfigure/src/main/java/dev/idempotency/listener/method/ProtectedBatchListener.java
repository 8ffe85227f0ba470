/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.key.Coordinates;
import dev.idempotency.listener.key.OperationResolver.Resolution;
import dev.idempotency.template.BatchHandler.BatchItem;
import dev.idempotency.template.BatchHandler.BatchResult;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.NackedException;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * A listener method that receives batches.
 * <ol>
 * <li>Resolves the operation of each record, up to the first rejected one.
 * <li>Runs the method for the records that are due. The order within a partition is kept.
 * <li>Reports the result to the container, and replays the stored results of duplicates.
 * </ol>
 *
 * @param settings the settings of the method
 * @param check fails a method that returns without acknowledging its records,
 * {@code null} if it may do so
 * @param acknowledging whether the method acknowledges its records itself
 * @param deferring whether the completion of a record waits for its acknowledgment
 */
record ProtectedBatchListener(ListenerSettings settings, @Nullable AcknowledgmentCheck check, boolean acknowledging,
		boolean deferring) implements ProtectedListener {

	@Override
	public @Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		List<? extends ConsumerRecord<?, ?>> records = delivery.freeze();
		@Nullable Object[] arguments = invocation.getArguments();
		BatchInvocation.check(arguments, records.size());
		if (records.isEmpty()) {
			return invocation.proceed();
		}
		List<BatchItem> items = new ArrayList<>(records.size());
		boolean[] withoutKey = new boolean[records.size()];
		OperationRejectedException rejection = null;
		for (int i = 0; i < records.size() && rejection == null; i++) {
			ConsumerRecord<?, ?> record = records.get(i);
			try {
				Resolution resolution = this.settings.operations().resolve(record, arguments, i);
				withoutKey[i] = resolution.operation() == null && !resolution.excluded();
				items.add(new BatchItem(resolution.operation(), Coordinates.partition(record)));
			}
			catch (OperationRejectedException ex) {
				rejection = ex;
			}
		}
		boolean transactional = this.settings.boundary().deferral() != null;
		if (rejection != null && transactional) {
			// The Kafka transaction is rolled back.
			throw rejection;
		}
		delivery.begin();
		try {
			BatchInvocation batch = new BatchInvocation(this, invocation, delivery, items,
					this.deferring && rejection == null);
			long start = System.nanoTime();
			BatchResult<Object> result = this.settings.template()
				.executeAll(items, this.settings.mode(), this.settings.codec(), this.settings.boundary(), batch);
			reportUnprotected(result, withoutKey, System.nanoTime() - start);
			Object returned = batch.report(result, rejection, transactional);
			return (result.failure() instanceof NackedException) ? null : withStoredResults(result, returned, batch);
		}
		finally {
			delivery.end();
		}
	}

	private void reportUnprotected(BatchResult<Object> result, boolean[] withoutKey, long nanos) {
		for (int i = 0; i < result.results().size(); i++) {
			if (withoutKey[i] && result.results().get(i) != null) {
				this.settings.operations()
					.reportWithoutKey(Outcome.UNPROTECTED, Duration.ofNanos(nanos / withoutKey.length));
			}
		}
	}

	private @Nullable Object withStoredResults(BatchResult<Object> result, @Nullable Object returned,
			BatchInvocation batch) {
		boolean stored = result.results()
			.stream()
			.anyMatch((one) -> one != null && (one.duplicate() || one.stale() || one.declineReason() != null));
		if (!stored || this.settings.codec() == ListenerSettings.NO_RESULT) {
			return returned;
		}
		List<@Nullable Object> results = new ArrayList<>();
		for (int i = 0; i < result.results().size(); i++) {
			IdempotentResult<Object> one = result.results().get(i);
			if (one != null && isReply(one, batch.hasReturned(i))) {
				results.add(one.result());
			}
		}
		return results;
	}

	// For an element that is null, Spring Kafka sends a reply without a value. Only the
	// method itself may ask for one.
	private static boolean isReply(IdempotentResult<Object> one, boolean returned) {
		return one.result() != null || (returned && !one.duplicate() && !one.stale() && one.declineReason() == null);
	}

}
