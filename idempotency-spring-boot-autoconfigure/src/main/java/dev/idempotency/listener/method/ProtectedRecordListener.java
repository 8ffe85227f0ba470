/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.method;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.ProxyMethodInvocation;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.Mode;
import dev.idempotency.OperationBlockedException;
import dev.idempotency.OperationDeclinedException;
import dev.idempotency.listener.async.AsyncResult;
import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.LookAhead;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.key.OperationResolver.Resolution;
import dev.idempotency.template.Futures;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.IdempotentOperation.Handler;
import dev.idempotency.template.IdempotentResult;
import dev.idempotency.template.NackedException;
import dev.idempotency.template.OperationObserver.Outcome;

/**
 * A listener method that receives single records.
 * <ol>
 * <li>Resolves the operation of the record. Without one, the method runs unprotected.
 * <li>Runs the method once per operation, or replays the stored result.
 * <li>Releases the acknowledgment of the method when the operation is completed, or
 * blocks the delivery.
 * </ol>
 * An asynchronous method is done when its result arrives, and Spring Kafka acknowledges
 * the record then. It would also acknowledge a record whose result fails. The result
 * therefore does not fail while another owner processes the operation: it waits until
 * that owner has completed, or until the method has run again.
 * <p>
 * A declined operation is done like a completed one, and its record is acknowledged.
 *
 * @param settings the settings of the method
 * @param async the kind of asynchronous result, {@code null} if the method is done when
 * it returns
 * @param check fails a method that returns without acknowledging its record, {@code null}
 * if it may do so
 * @param acknowledging whether the method acknowledges its record itself
 */
record ProtectedRecordListener(ListenerSettings settings, @Nullable AsyncResult async,
		@Nullable AcknowledgmentCheck check, boolean acknowledging) implements ProtectedListener {

	private static final Log logger = LogFactory.getLog(ProtectedRecordListener.class);

	@Override
	public @Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		try {
			Resolution resolution = this.settings.operations()
				.resolve(delivery.record(), invocation.getArguments(), -1);
			IdempotentOperation operation = resolution.operation();
			if (resolution.excluded()) {
				return executeUnprotected(resolution.origin(), invocation, delivery);
			}
			if (operation == null) {
				return executeWithoutKey(resolution.origin(), invocation, delivery);
			}
			return (this.async != null)
					? executeAsync(operation, (ProxyMethodInvocation) invocation, delivery, this.async)
					: execute(operation, invocation, delivery);
		}
		catch (OperationDeclinedException ex) {
			Object body = declined(ex, delivery);
			return (this.async != null) ? this.async.convert(CompletableFuture.completedFuture(body)) : body;
		}
	}

	private @Nullable Object execute(IdempotentOperation operation, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		return blocking(operation.key(), delivery, () -> {
			IdempotentResult<Object> executed = this.settings.template()
				.execute(operation, this.settings.codec(), this.settings.boundary(), LookAhead.claims(this.settings),
						() -> {
							Object result = proceed(invocation, delivery);
							if (this.check != null && delivery.isUnacknowledged()) {
								throw this.check.failure(operation);
							}
							return result;
						});
			delivery.completed(executed.duplicate() || executed.stale());
			return executed.result();
		});
	}

	private @Nullable Object blocking(@Nullable IdempotencyKey key, Delivery delivery,
			Handler<Object, Throwable> execution) throws Throwable {
		delivery.begin();
		try {
			return execution.handle();
		}
		catch (NackedException ex) {
			// The method itself has requested the redelivery from the container.
			return null;
		}
		catch (Exception ex) {
			OperationBlockedException blocked = OperationBlockedException.in(ex);
			if (blocked != null) {
				delivery.block(blocked, key, this.settings);
			}
			else {
				delivery.failed();
			}
			throw ex;
		}
		finally {
			delivery.end();
		}
	}

	private @Nullable Object proceed(MethodInvocation invocation, Delivery delivery) throws Throwable {
		try {
			Object result = proceed(invocation);
			delivery.checkNotNacked();
			return result;
		}
		catch (OperationDeclinedException ex) {
			delivery.checkNotNacked();
			throw ex;
		}
	}

	private @Nullable Object proceed(MethodInvocation invocation) throws Throwable {
		try {
			return invocation.proceed();
		}
		catch (Exception ex) {
			OperationDeclinedException declined = this.settings.declinedFailures().declined(ex);
			throw (declined != null) ? declined : ex;
		}
	}

	private CompletionStage<Object> stage(AsyncResult kind, MethodInvocation invocation) throws Throwable {
		Object returned = proceed(invocation);
		return this.settings.declinedFailures()
			.in((returned != null) ? kind.stage(returned) : CompletableFuture.completedFuture(null));
	}

	// The record is done: it is acknowledged, and the body of the decline is its reply.
	private @Nullable Object declined(OperationDeclinedException declined, Delivery delivery) {
		if (!declined.isDuplicate()) {
			ConsumerRecord<?, ?> record = delivery.record();
			logger.info("The listener " + this.settings.name() + " declined an operation for good: topic "
					+ record.topic() + ", partition " + record.partition() + ", offset " + record.offset()
					+ ". The record is acknowledged, and its duplicates get the same decline");
		}
		if (this.async != null) {
			// The listener adapter acknowledges the record when it has the result.
			delivery.completed(false);
		}
		else {
			delivery.declined(declined.isDuplicate());
		}
		return declined.body();
	}

	private Object executeAsync(IdempotentOperation operation, ProxyMethodInvocation invocation, Delivery delivery,
			AsyncResult kind) throws Throwable {
		delivery.begin();
		try {
			CompletableFuture<IdempotentResult<Object>> executed = this.settings.template()
				.executeAsyncUntilCompleted(operation, this.settings.codec(), () -> {
					// The method runs again if another owner has taken over and failed,
					// but an invocation can proceed only once.
					delivery.begin();
					return stage(kind, invocation.invocableClone());
				});
			return kind.convert(result(executed, IdempotentResult::result, delivery));
		}
		catch (Throwable ex) {
			delivery.end();
			OperationBlockedException blocked = OperationBlockedException.in(ex);
			if (blocked == null) {
				throw ex;
			}
			delivery.block(blocked, operation.key(), this.settings);
			return kind.redeliver(blocked);
		}
	}

	// The delivery is completed before the listener adapter, which waits for the result,
	// acknowledges the record.
	private <T> CompletableFuture<Object> result(CompletableFuture<T> executed, Function<T, @Nullable Object> value,
			Delivery delivery) {
		CompletableFuture<Object> result = new CompletableFuture<>();
		executed.whenComplete((completed, error) -> {
			OperationDeclinedException declined = this.settings.declinedFailures().declined(error);
			if (declined != null) {
				Object body = null;
				try {
					body = declined(declined, delivery);
				}
				finally {
					result.complete(body);
				}
			}
			else if (error != null) {
				delivery.end();
				delivery.failing();
				if (!result.completeExceptionally(error)) {
					delivery.failedLate(error);
				}
			}
			else {
				try {
					delivery.completed(false);
				}
				finally {
					result.complete(value.apply(completed));
				}
			}
			delivery.endAsync();
		});
		return Futures.cancelling(executed, result);
	}

	private @Nullable Object executeWithoutKey(Object origin, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		long start = System.nanoTime();
		Outcome outcome = Outcome.UNPROTECTED;
		try {
			return executeUnprotected(origin, invocation, delivery);
		}
		catch (IdempotencyStoreUnavailableException ex) {
			outcome = Outcome.UNAVAILABLE;
			throw ex;
		}
		finally {
			this.settings.operations().reportWithoutKey(outcome, Duration.ofNanos(System.nanoTime() - start));
		}
	}

	private @Nullable Object executeUnprotected(Object origin, MethodInvocation invocation, Delivery delivery)
			throws Throwable {
		if (this.async != null) {
			return this.async
				.convert(result(stage(this.async, invocation).toCompletableFuture(), (value) -> value, delivery));
		}
		if (this.settings.mode() == Mode.LEASED) {
			return proceed(invocation);
		}
		return blocking(null, delivery, () -> {
			Object result = this.settings.template()
				.executeUnprotected(origin, this.settings.mode(), this.settings.boundary(),
						() -> proceed(invocation, delivery));
			delivery.completed(false);
			return result;
		});
	}

}
