/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.consumer;

import java.util.IdentityHashMap;
import java.util.Map;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * A value of the consumer whose thread this is. A container calls its listener, error
 * handler, interceptors, rebalance listener and transaction manager on the thread of the
 * consumer, and nothing that it passes to all of them identifies the consumer. The values
 * of a consumer end together, when it ends.
 *
 * @param <T> the type of the value
 */
public final class ConsumerLocal<T> {

	// A thread that is not that of a consumer has none.
	private static final ThreadLocal<@Nullable Map<ConsumerLocal<?>, Object>> VALUES = new ThreadLocal<>();

	private final Supplier<T> initial;

	public ConsumerLocal() {
		this(() -> {
			throw new IllegalStateException("The consumer of this thread has no value");
		});
	}

	public ConsumerLocal(Supplier<T> initial) {
		this.initial = initial;
	}

	/**
	 * Return the value, or the initial one.
	 * @return the value
	 * @throws IllegalStateException if there is none
	 */
	public T get() {
		T value = find();
		if (value == null) {
			value = this.initial.get();
			set(value);
		}
		return value;
	}

	@SuppressWarnings("unchecked")
	public @Nullable T find() {
		Map<ConsumerLocal<?>, Object> values = VALUES.get();
		return (values != null) ? (T) values.get(this) : null;
	}

	public void set(@Nullable T value) {
		Map<ConsumerLocal<?>, Object> values = VALUES.get();
		if (value == null) {
			if (values != null) {
				values.remove(this);
			}
			return;
		}
		if (values == null) {
			values = new IdentityHashMap<>();
			VALUES.set(values);
		}
		values.put(this, value);
	}

	/**
	 * Remove all values, because the consumer of this thread has ended.
	 */
	public static void end() {
		VALUES.remove();
	}

}
