/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.observation;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.kafka.listener.ContainerProperties;

import dev.idempotency.listener.delivery.Delivery;
import dev.idempotency.listener.delivery.ListenerSettings;
import dev.idempotency.listener.delivery.ProtectedListeners.ProtectedListener;

/**
 * Observes the handling of each batch, including the calls of the store and the commit.
 * Before version 4.2, Spring Kafka has no observation during the call of a batch
 * listener. Its observation of version 4.2 has the trace of the first record only.
 *
 * @param delegate the listener
 * @param registry the registry of the container
 */
public record ObservedBatchListener(ProtectedListener delegate,
		ObservationRegistry registry) implements ProtectedListener {

	private static final String NAME = "idempotency.batch";

	// The registry is found as the container does it.
	public static ProtectedListener observe(ProtectedListener listener, ContainerProperties container,
			ObjectProvider<ObservationRegistry> registries) {
		if (!container.isObservationEnabled()) {
			return listener;
		}
		ObservationRegistry own = container.getObservationRegistry();
		ObservationRegistry registry = own.isNoop() ? registries.getIfUnique(() -> own) : own;
		return registry.isNoop() ? listener : new ObservedBatchListener(listener, registry);
	}

	@Override
	public ListenerSettings settings() {
		return this.delegate.settings();
	}

	@Override
	public boolean acknowledging() {
		return this.delegate.acknowledging();
	}

	@Override
	public @Nullable Object invoke(MethodInvocation invocation, Delivery delivery) throws Throwable {
		String name = settings().name();
		Observation batch = Observation
			.createNotStarted(NAME, () -> new BatchContext(delivery.records()), this.registry)
			.contextualName(name + " batch")
			.lowCardinalityKeyValue("listener", name)
			.highCardinalityKeyValue("messaging.batch.message_count", String.valueOf(delivery.records().size()))
			.start();
		try (Observation.Scope scope = batch.openScope()) {
			return this.delegate.invoke(invocation, delivery);
		}
		catch (Throwable ex) {
			batch.error(ex);
			throw ex;
		}
		finally {
			batch.stop();
		}
	}

}
