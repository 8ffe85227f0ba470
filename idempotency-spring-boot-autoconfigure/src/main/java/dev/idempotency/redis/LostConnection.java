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

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.Threads;
import dev.idempotency.redis.LettuceConnections.Work;
import dev.idempotency.store.Deadline;

/**
 * Replaces a connection that the network has lost without a reset. The client would wait
 * on it until the operating system gives up, often for a quarter of an hour. The
 * connection is replaced only if the server answers on a new one, so that a server that
 * is slow or frozen keeps its connections. In a cluster, the connections are replaced
 * only if none of them is answered.
 */
final class LostConnection {

	private static final Log logger = LogFactory.getLog(LostConnection.class);

	private static final int SILENT_TIMEOUTS = 3;

	private final LettuceConnectionFactory factory;

	private final Duration timeout;

	private final Runnable replacement;

	private final AtomicBoolean examining = new AtomicBoolean();

	// When the first call timed out after the last answer, 0 if none did.
	private volatile long silentSince;

	LostConnection(LettuceConnectionFactory factory, Duration timeout, Runnable replacement) {
		this.factory = factory;
		this.timeout = timeout;
		this.replacement = replacement;
	}

	// Make a call on the connection, and notice whether it is answered.
	<T> T watch(Deadline deadline, Work<T> call) throws ExecutionException, TimeoutException {
		try {
			T answer = call.run(deadline);
			answered();
			return answer;
		}
		catch (Exception ex) {
			if (RedisErrors.isTimeout(ex)) {
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
		try (StatefulConnection<byte[], byte[]> fresh = LettuceConnections.open(this.factory)) {
			ping(fresh);
			if (this.silentSince != 0) {
				logger.warn("Redis answers on a new connection, but has not answered on an open one for "
						+ TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - this.silentSince)
						+ " s. Presumably the network has lost it. It is replaced, unless it is of a pool: then restart "
						+ "the application, or set 'spring.data.redis.lettuce.pool.enabled' to false");
				this.replacement.run();
				this.silentSince = 0;
			}
		}
		catch (Exception ex) {
			logger.debug("Redis does not answer on a new connection either", ex);
		}
		finally {
			this.examining.set(false);
		}
	}

	private void ping(StatefulConnection<byte[], byte[]> connection) throws Exception {
		((connection instanceof StatefulRedisClusterConnection<byte[], byte[]> cluster) ? cluster.async().ping()
				: ((StatefulRedisConnection<byte[], byte[]>) connection).async().ping())
			.get(this.timeout.toMillis(), TimeUnit.MILLISECONDS);
	}

}
