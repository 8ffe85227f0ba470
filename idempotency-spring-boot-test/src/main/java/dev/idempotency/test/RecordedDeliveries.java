/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Supplier;

import org.springframework.util.ClassUtils;

import dev.idempotency.template.OperationObserver;

/**
 * Records the outcome of each delivery to the idempotent listeners of a context, from the
 * start of the context on. Choose a listener and assert about its keys with AssertJ:
 *
 * <pre class="code">
 * assertThat(deliveries.of(LedgerListener.class)).processedOnce("p-1").duplicates("p-1", 1);
 * </pre>
 *
 * A test that assumes nothing about earlier tests uses keys of its own.
 *
 * @since 0.1.0
 */
public final class RecordedDeliveries implements OperationObserver {

	private final Queue<HandledOperation> executions = new ConcurrentLinkedQueue<>();

	private final KnownKeys keys;

	private final Supplier<Set<String>> listeners;

	RecordedDeliveries(KnownKeys keys, Supplier<Set<String>> listeners) {
		this.keys = keys;
		this.listeners = listeners;
	}

	/**
	 * Return the deliveries to the listener methods of a class.
	 * @param listener the class, or the class of a proxy of it
	 * @return the deliveries, also those that are still to come
	 */
	public ListenerDeliveries of(Class<?> listener) {
		String prefix = ClassUtils.getShortName(ClassUtils.getUserClass(listener)) + '.';
		return new ListenerDeliveries(prefix + '*', (name) -> name.startsWith(prefix), this.executions, this.keys,
				this.listeners);
	}

	/**
	 * Return the deliveries to a listener method.
	 * @param listener the name of the listener as in log lines and meters, such as
	 * {@code LedgerListener.charge}
	 * @return the deliveries, also those that are still to come
	 */
	public ListenerDeliveries of(String listener) {
		return new ListenerDeliveries(listener, listener::equals, this.executions, this.keys, this.listeners);
	}

	/**
	 * Return all deliveries.
	 * @return the outcomes of the deliveries, in their order
	 */
	public List<HandledOperation> all() {
		return List.copyOf(this.executions);
	}

	@Override
	public void handled(HandledOperation execution) {
		this.executions.add(execution);
	}

}
