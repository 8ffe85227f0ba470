/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.range;

import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;

import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.kafka.support.KafkaUtils;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.OperationRejectedException;
import dev.idempotency.listener.delivery.DeliveryListener;
import dev.idempotency.listener.delivery.ProtectedListeners;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;
import dev.idempotency.listener.method.IdempotentAdvisor;
import dev.idempotency.reconcile.TopicRecord.Target;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.OffsetPosition;

/**
 * Finds out to which operation a listener resolves a record, without running the method:
 * the record is passed to the listener adapter, which filters and converts it, and the
 * advice of the method resolves its operation and returns. Used by one thread.
 *
 * @param listeners the protected methods
 * @param group the consumer group
 * @param positions find the position of a record whose offset is compared
 */
record KeyProbe(ProtectedListeners listeners, @Nullable String group,
		Function<ConsumerRecord<?, ?>, OffsetPosition> positions) {

	private static final Acknowledgment NO_ACKNOWLEDGMENT = () -> {
	};

	Answer resolve(ConsumerRecord<?, ?> record, DeliveryListener<?, ?> listener, Consumer<?, ?> consumer) {
		AtomicReference<@Nullable Answer> answer = new AtomicReference<>();
		boolean batch = listener instanceof BatchMessageListener<?, ?>;
		IdempotentAdvisor.PROBE.set((invocation) -> {
			answer.set(resolve(this.listeners.get(invocation.getMethod()), record, invocation.getArguments(), batch));
			if (KotlinDetector.isSuspendingFunction(invocation.getMethod())) {
				// The adapter would retry a function that fails.
				return null;
			}
			throw new ReachedSignal();
		});
		KafkaUtils.setConsumerGroupId(this.group);
		try {
			listener.probe(record, NO_ACKNOWLEDGMENT, consumer);
		}
		catch (ReachedSignal ex) {
			// The operation is resolved.
		}
		catch (RuntimeException ex) {
			// Advice around the method may have replaced the signal.
			if (answer.get() == null) {
				return new Answer(null, "the record cannot be converted for the listener method: " + type(ex));
			}
		}
		finally {
			KafkaUtils.clearConsumerGroupId();
			IdempotentAdvisor.PROBE.set(null);
		}
		// The filter of the container excludes the record if the method was not reached.
		Answer resolved = answer.get();
		return (resolved != null) ? resolved : Answer.UNPROTECTED;
	}

	private Answer resolve(@Nullable ProtectedListener listener, ConsumerRecord<?, ?> reached,
			@Nullable Object[] arguments, boolean batch) {
		if (listener == null) {
			return Answer.UNPROTECTED;
		}
		try {
			IdempotentOperation operation = listener.settings()
				.operations()
				.silent(this.positions)
				.resolve(reached, arguments, batch ? 0 : -1)
				.operation();
			return (operation != null) ? new Answer(new Target(listener.settings().template(), operation), null)
					: Answer.UNPROTECTED;
		}
		catch (OperationRejectedException ex) {
			return new Answer(null, String.valueOf(ex.getMessage()));
		}
		catch (RuntimeException ex) {
			return new Answer(null, "the operation of the record cannot be resolved: " + type(ex));
		}
	}

	// The messages of other exceptions may quote the payload.
	private static String type(RuntimeException ex) {
		return ExceptionCauses.last(ex).getClass().getName();
	}

	/**
	 * The operation of a record.
	 *
	 * @param target the operation, {@code null} if there is none
	 * @param problem the reason why the operation cannot be resolved, {@code null} if it
	 * is, or if the listener does not protect the record
	 */
	record Answer(@Nullable Target target, @Nullable String problem) {

		static final Answer UNPROTECTED = new Answer(null, null);

	}

	/**
	 * Leaves the method. It is an error, because the listener adapter passes each
	 * exception to the {@code KafkaListenerErrorHandler} of the application.
	 */
	@SuppressWarnings("serial")
	private static final class ReachedSignal extends Error {

		ReachedSignal() {
			super("The method was reached", null, false, false);
		}

	}

}
