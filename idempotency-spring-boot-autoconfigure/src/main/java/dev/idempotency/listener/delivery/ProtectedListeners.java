/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.delivery;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

import org.aopalliance.intercept.MethodInvocation;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.springframework.aop.support.AopUtils;

import dev.idempotency.listener.async.AsyncRetries;
import dev.idempotency.listener.error.RecordOutcomes;
import dev.idempotency.listener.key.Coordinates;

/**
 * The {@code @Idempotent} methods of one endpoint.
 *
 * @param targetClass the class of the methods
 * @param listeners the methods
 * @param acknowledgments the acknowledgments of the container
 * @param acknowledging whether the container keeps the offset of a record until a method
 * acknowledges it
 * @param identities the identities of the topics
 * @param asyncRetries the retries of asynchronous results
 * @param blockedRecords the blocked records
 * @param resolved the methods by the methods that are invoked
 */
public record ProtectedListeners(Class<?> targetClass, Map<Method, ProtectedListener> listeners,
		ContainerAcknowledgments acknowledgments, boolean acknowledging, TopicIdentities identities,
		AsyncRetries asyncRetries, BlockedRecords blockedRecords,
		Map<Method, Optional<ProtectedListener>> resolved) implements RecordOutcomes {

	public ProtectedListeners(Class<?> targetClass, Map<Method, ProtectedListener> listeners,
			ContainerAcknowledgments acknowledgments, boolean acknowledging, TopicIdentities identities) {
		this(targetClass, Map.copyOf(listeners), acknowledgments, acknowledging, identities, new AsyncRetries(),
				new BlockedRecords(Duration.ofMinutes(1)), new ConcurrentHashMap<>());
	}

	// The error handler may publish the record to a retry topic. Its copy is then
	// recognized as this record, whatever headers its producer has copied.
	@Override
	public void failed(ConsumerRecord<?, ?> record) {
		this.listeners.values().forEach((listener) -> listener.settings().operations().scope().recordFailed(record));
	}

	@Override
	public void recovered(ConsumerRecord<?, ?> record) {
		this.acknowledgments.complete(List.of(record), true);
	}

	@Override
	public boolean isBehindUnacknowledged(ConsumerRecord<?, ?> record) {
		return this.acknowledgments.isWaiting(Coordinates.partition(record));
	}

	// Return the protection of an invoked method. The method may be a bridge method
	// or the interface method of the registered one.
	public @Nullable ProtectedListener get(Method invoked) {
		Optional<ProtectedListener> known = this.resolved.get(invoked);
		return ((known != null) ? known : this.resolved.computeIfAbsent(invoked, this::resolve)).orElse(null);
	}

	private Optional<ProtectedListener> resolve(Method invoked) {
		return Optional.ofNullable(this.listeners.get(AopUtils.getMostSpecificMethod(invoked, this.targetClass)));
	}

	public interface ProtectedListener {

		ListenerSettings settings();

		boolean acknowledging();

		@Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable;

	}

}
