/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadFactory;
import java.util.function.Supplier;

import io.lettuce.core.AbstractRedisClient;
import org.jspecify.annotations.Nullable;

import dev.idempotency.Threads;

/**
 * Opens a connection on a thread of its own, once for each client. Connecting may take
 * longer than the timeout of a call, and concurrent callers must not connect one after
 * the other. After a failure the next call opens the connection again.
 *
 * @param <T> type of the connection
 */
final class ConnectionOpener<T> {

	private final Supplier<T> supplier;

	private final ThreadFactory threads;

	private @Nullable AbstractRedisClient client;

	private @Nullable CompletableFuture<T> connection;

	ConnectionOpener(Supplier<T> supplier) {
		this(supplier, (task) -> Threads.daemon("idempotency-redis-connect", task));
	}

	ConnectionOpener(Supplier<T> supplier, ThreadFactory threads) {
		this.supplier = supplier;
		this.threads = threads;
	}

	synchronized CompletableFuture<T> open(@Nullable AbstractRedisClient client) {
		CompletableFuture<T> current = this.connection;
		if (current == null || current.isCompletedExceptionally() || this.client != client) {
			current = connect();
			this.connection = current;
			this.client = client;
		}
		return current;
	}

	private CompletableFuture<T> connect() {
		try {
			return CompletableFuture.supplyAsync(this.supplier, (task) -> this.threads.newThread(task).start());
		}
		catch (Throwable ex) {
			return CompletableFuture.failedFuture(ex);
		}
	}

	// The next call opens another connection.
	synchronized void forget() {
		this.connection = null;
	}

	synchronized @Nullable T getIfOpen() {
		CompletableFuture<T> current = this.connection;
		return (current != null && current.isDone() && !current.isCompletedExceptionally()) ? current.join() : null;
	}

}
