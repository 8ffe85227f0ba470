/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.async;

import java.lang.reflect.Method;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

import org.jspecify.annotations.Nullable;
import org.springframework.core.KotlinDetector;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.kafka.listener.adapter.AdapterUtils;
import reactor.core.publisher.Mono;

/**
 * Converts between the return type of an asynchronous listener method and a
 * {@link CompletableFuture}. Reactor need not be present for methods that return a
 * future.
 *
 * @param mono whether the method returns a {@code Mono}, as the proxy of a suspending
 * function does
 * @param suspending whether the method is called only when the listener adapter
 * subscribes
 */
public record AsyncResult(boolean mono, boolean suspending) {

	public static @Nullable AsyncResult of(Method method) {
		boolean suspending = KotlinDetector.isSuspendingFunction(method);
		if (suspending || AdapterUtils.isMono(method.getReturnType())) {
			return new AsyncResult(true, suspending);
		}
		return (method.getReturnType() == CompletableFuture.class) ? new AsyncResult(false, false) : null;
	}

	public static boolean isReactive(Class<?> type) {
		return ReactiveAdapterRegistry.getSharedInstance().getAdapter(type) != null;
	}

	// Whether a value of a type may be computed after the method has returned.
	public static boolean isAsynchronous(Class<?> type) {
		return Future.class.isAssignableFrom(type) || CompletionStage.class.isAssignableFrom(type) || isReactive(type);
	}

	@SuppressWarnings("unchecked")
	public CompletionStage<Object> stage(Object returned) {
		return (CompletionStage<Object>) (this.mono ? ((Mono<?>) returned).toFuture() : returned);
	}

	public Object convert(CompletableFuture<Object> future) {
		return this.mono ? Mono.fromFuture(future) : future;
	}

	// Make Spring Kafka redeliver the record, which is blocked. A failed future does
	// not do that at once: the container would handle it only after the next poll. During
	// a subscription, an exception is a failed Mono. The delivery listener throws the
	// reason as soon as the adapter has returned.
	public Object redeliver(RuntimeException reason) {
		if (!this.suspending) {
			throw reason;
		}
		return Mono.never();
	}

}
