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
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisSentinelConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.store.Deadline;

/**
 * Runs commands on a connection that all threads share, with the timeout of the store
 * instead of Lettuce's. The connection belongs to the store. Only the client of a static
 * master and its replicas cannot open one, because the connection factory has their
 * addresses: then the commands run on the connection of the factory.
 */
final class LettuceConnections {

	private final LettuceConnectionFactory factory;

	private final Duration timeout;

	private final StoreConnection own;

	private final ConnectionOpener<Boolean> ofFactory = new ConnectionOpener<>(this::connectFactory);

	// Whether only the factory can connect.
	private volatile boolean dependent;

	LettuceConnections(LettuceConnectionFactory factory, Duration timeout) {
		this.factory = factory;
		this.timeout = timeout;
		this.own = new StoreConnection(factory, timeout, () -> {
		});
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

	private boolean connectFactory() {
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
		return calls.isEmpty() ? List.of() : onConnection((commands, deadline) -> this.own.watch(deadline,
				(limited) -> ScriptCall.awaitAll(ScriptCall.sendAll(calls, commands), limited)));
	}

	<T> T onConnection(CommandWork<T> work) {
		return onConnection(this.timeout, work);
	}

	<T> T onConnection(Duration limit, CommandWork<T> work) {
		return withDeadline(limit, (deadline) -> {
			RedisClusterAsyncCommands<byte[], byte[]> commands = ownCommands(deadline);
			if (commands != null) {
				return work.run(commands, deadline);
			}
			deadline.await(this.ofFactory.open(this.factory.getNativeClient()));
			try (RedisConnection connection = this.factory.getConnection()) {
				return work.run(commands(connection), deadline);
			}
		});
	}

	private @Nullable RedisClusterAsyncCommands<byte[], byte[]> ownCommands(Deadline deadline)
			throws ExecutionException, TimeoutException {
		if (this.dependent) {
			return null;
		}
		try {
			return this.own.commands(deadline);
		}
		catch (ExecutionException ex) {
			// Lettuce asserts that the client has an address.
			if (!(ex.getCause() instanceof IllegalStateException)) {
				throw ex;
			}
			this.dependent = true;
			return null;
		}
	}

	void close() {
		this.own.close();
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

	interface CommandWork<T> {

		T run(RedisClusterAsyncCommands<byte[], byte[]> commands, Deadline deadline)
				throws ExecutionException, TimeoutException;

	}

}
