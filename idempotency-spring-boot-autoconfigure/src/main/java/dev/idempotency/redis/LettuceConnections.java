/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.net.SocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.codec.ByteArrayCodec;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettucePoolingClientConfiguration;

import dev.idempotency.store.Deadline;

/**
 * Runs commands on the connection that all threads share, with the timeout of the store
 * instead of Lettuce's.
 */
final class LettuceConnections {

	private final LettuceConnectionFactory factory;

	private final Duration timeout;

	private final ConnectionOpener<Boolean> opener = new ConnectionOpener<>(this::connect);

	private final LostConnection lost;

	LettuceConnections(LettuceConnectionFactory factory, Duration timeout) {
		this.factory = factory;
		this.timeout = timeout;
		this.lost = new LostConnection(factory, timeout, this::reopen);
	}

	static StatefulConnection<byte[], byte[]> open(LettuceConnectionFactory factory) {
		return (factory.getRequiredNativeClient() instanceof RedisClusterClient cluster)
				? cluster.connect(ByteArrayCodec.INSTANCE)
				: ((RedisClient) factory.getRequiredNativeClient()).connect(ByteArrayCodec.INSTANCE);
	}

	private void reopen() {
		// A pool would lend the connection again.
		if (!(this.factory.getClientConfiguration() instanceof LettucePoolingClientConfiguration)) {
			this.factory.resetConnection();
			this.opener.forget();
		}
	}

	boolean isSameServer(LettuceConnections other) {
		return this.factory == other.factory || server(this.factory).equals(server(other.factory));
	}

	private static List<Object> server(LettuceConnectionFactory factory) {
		RedisClusterConfiguration cluster = factory.getClusterConfiguration();
		RedisSentinelConfiguration sentinel = factory.getSentinelConfiguration();
		return List.of((cluster != null) ? cluster.getClusterNodes()
				: (sentinel != null) ? sentinel.getSentinels() : factory.getHostName() + ':' + factory.getPort(),
				factory.getDatabase());
	}

	private boolean connect() {
		try (RedisConnection connection = this.factory.getConnection()) {
			commands(connection);
			return true;
		}
	}

	byte[] run(ScriptCall call) {
		return runAll(List.of(call)).get(0);
	}

	// Sends all calls before it awaits the first reply.
	List<byte[]> runAll(List<ScriptCall> calls) {
		return calls.isEmpty() ? List.of() : onSharedConnection((commands, deadline) -> this.lost.watch(deadline,
				(limited) -> ScriptCall.awaitAll(ScriptCall.sendAll(calls, commands), limited)));
	}

	<T> T onSharedConnection(SharedWork<T> work) {
		return onSharedConnection(this.timeout, work);
	}

	<T> T onSharedConnection(Duration limit, SharedWork<T> work) {
		return withDeadline(limit, (deadline) -> {
			// Only the first call waits: afterwards the connection reconnects by itself.
			deadline.await(this.opener.open(this.factory.getNativeClient()));
			try (RedisConnection connection = this.factory.getConnection()) {
				return work.run(commands(connection), deadline);
			}
		});
	}

	static <T> T withDeadline(Duration limit, Work<T> work) {
		try {
			return work.run(Deadline.after(limit));
		}
		catch (ExecutionException | TimeoutException | RedisException | DataAccessException
				| IllegalStateException ex) {
			throw RedisErrors.blocked(ex, limit);
		}
	}

	// Register a callback for new connections of the client. If each call opens its
	// own connection, no callback is registered, because a new connection means
	// nothing then.
	void onConnected(Runnable callback) {
		AbstractRedisClient client = this.factory.getNativeClient();
		if (client != null && this.factory.getShareNativeConnection()) {
			client.addListener(new RedisConnectionStateListener() {

				@Override
				public void onRedisConnected(RedisChannelHandler<?, ?> connection, SocketAddress address) {
					callback.run();
				}

			});
		}
	}

	@SuppressWarnings("unchecked")
	private static RedisClusterAsyncCommands<byte[], byte[]> commands(RedisConnection connection) {
		return (RedisClusterAsyncCommands<byte[], byte[]>) connection.getNativeConnection();
	}

	interface Work<T> {

		T run(Deadline deadline) throws ExecutionException, TimeoutException;

	}

	interface SharedWork<T> {

		T run(RedisClusterAsyncCommands<byte[], byte[]> commands, Deadline deadline)
				throws ExecutionException, TimeoutException;

	}

}
