/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.Threads;
import dev.idempotency.redis.LettuceConnections.Work;
import dev.idempotency.store.Deadline;

/**
 * A connection that only the store uses, of the client of the application. It is opened
 * at the first call, and replaced if the network has lost it without a reset: the client
 * would wait on it until the operating system gives up, often for a quarter of an hour.
 * <p>
 * A connection is lost if its calls time out and the server answers on a new one. A
 * server that is slow or frozen keeps its connections. In a cluster, the connections to
 * all nodes are replaced, if none of them is answered.
 */
final class StoreConnection {

	private static final Log logger = LogFactory.getLog(StoreConnection.class);

	private static final int SILENT_TIMEOUTS = 3;

	private final LettuceConnectionFactory factory;

	private final Duration timeout;

	private final Runnable replaced;

	private final ConnectionOpener<StatefulConnection<byte[], byte[]>> opener = new ConnectionOpener<>(this::connect);

	private final AtomicBoolean examining = new AtomicBoolean();

	// When the first call timed out after the last answer, 0 if none did.
	private volatile long silentSince;

	// A call that times out on the connection before says nothing about this one.
	private volatile int replacements;

	StoreConnection(LettuceConnectionFactory factory, Duration timeout, Runnable replaced) {
		this.factory = factory;
		this.timeout = timeout;
		this.replaced = replaced;
	}

	private StatefulConnection<byte[], byte[]> connect() {
		AbstractRedisClient client = this.factory.getRequiredNativeClient();
		return (client instanceof RedisClusterClient cluster) ? cluster.connect(ByteArrayCodec.INSTANCE)
				: ((RedisClient) client).connect(ByteArrayCodec.INSTANCE);
	}

	// Only the first call waits: afterwards the connection reconnects by itself.
	StatefulConnection<byte[], byte[]> open(Deadline deadline) throws ExecutionException, TimeoutException {
		return deadline.await(this.opener.open(this.factory.getNativeClient()));
	}

	RedisClusterAsyncCommands<byte[], byte[]> commands(Deadline deadline) throws ExecutionException, TimeoutException {
		return commands(open(deadline));
	}

	private static RedisClusterAsyncCommands<byte[], byte[]> commands(StatefulConnection<byte[], byte[]> connection) {
		return (connection instanceof StatefulRedisClusterConnection<byte[], byte[]> cluster) ? cluster.async()
				: ((StatefulRedisConnection<byte[], byte[]>) connection).async();
	}

	// Make a call on the connection, and notice whether it is answered.
	<T> T watch(Deadline deadline, Work<T> call) throws ExecutionException, TimeoutException {
		int before = this.replacements;
		try {
			T answer = call.run(deadline);
			answered();
			return answer;
		}
		catch (Exception ex) {
			if (RedisErrors.isTimeout(ex) && this.replacements == before) {
				timedOut();
			}
			throw ex;
		}
	}

	private void answered() {
		// The plain read keeps the common case free of a write that all threads share.
		if (this.silentSince != 0) {
			this.silentSince = 0;
		}
	}

	private void timedOut() {
		long now = System.nanoTime();
		long since = this.silentSince;
		if (since == 0) {
			this.silentSince = (now != 0) ? now : 1;
		}
		else if (now - since > this.timeout.toNanos() * SILENT_TIMEOUTS && this.examining.compareAndSet(false, true)) {
			Threads.daemon("idempotency-redis-connect", this::examine).start();
		}
	}

	private void examine() {
		try (StatefulConnection<byte[], byte[]> fresh = connect()) {
			commands(fresh).ping().get(this.timeout.toMillis(), TimeUnit.MILLISECONDS);
			long since = this.silentSince;
			if (since != 0) {
				logger.warn(
						"Redis answers on a new connection, but has not answered on that of the idempotency store for "
								+ TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - since)
								+ " s. Presumably the network has lost it. The connection is replaced");
				replace();
			}
		}
		catch (Exception ex) {
			logger.debug("Redis does not answer on a new connection either", ex);
		}
		finally {
			this.examining.set(false);
		}
	}

	// Only the thread that examines the connection comes here.
	private void replace() {
		close();
		this.opener.forget();
		this.replaced.run();
		this.replacements++;
		this.silentSince = 0;
	}

	void close() {
		StatefulConnection<byte[], byte[]> connection = this.opener.getIfOpen();
		// The factory has closed its client, and Lettuce warns of a second time.
		if (connection != null && connection.isOpen()) {
			connection.closeAsync();
		}
	}

}
