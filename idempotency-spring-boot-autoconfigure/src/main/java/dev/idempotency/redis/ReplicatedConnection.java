/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.store.Deadline;
import dev.idempotency.store.IdempotencyStore.Settlement;

/**
 * Runs scripts whose writes replicas must confirm. It opens a connection of its own at
 * the first call, because {@code WAIT} blocks its connection and counts only the writes
 * of that connection. In a cluster, it uses the connection to the node of the key.
 */
final class ReplicatedConnection {

	private final int replicas;

	private final Duration wait;

	private final StoreConnection connection;

	private final Map<StatefulConnection<?, ?>, AtomicInteger> disconnects = new ConcurrentHashMap<>();

	ReplicatedConnection(LettuceConnectionFactory factory, int replicas, Duration timeout) {
		this.replicas = replicas;
		this.connection = new StoreConnection(factory, timeout, this.disconnects::clear);
		// The reply must also arrive within the timeout.
		this.wait = timeout.dividedBy(2);
	}

	List<byte[]> run(List<ScriptCall> calls, Deadline deadline) throws ExecutionException, TimeoutException {
		return this.connection.watch(deadline, (limited) -> confirmed(calls, limited));
	}

	// Sends all calls before it awaits the first reply. One WAIT confirms all
	// writes of a connection.
	private List<byte[]> confirmed(List<ScriptCall> calls, Deadline deadline)
			throws ExecutionException, TimeoutException {
		List<StatefulRedisConnection<byte[], byte[]>> connections = new ArrayList<>();
		for (ScriptCall call : calls) {
			connections.add(connection(call.key(), deadline));
		}
		Map<StatefulRedisConnection<byte[], byte[]>, Integer> disconnectsBefore = new HashMap<>();
		connections.forEach((connection) -> disconnectsBefore.computeIfAbsent(connection, this::disconnects));
		List<ScriptCall.Sent> sent = new ArrayList<>();
		for (int i = 0; i < calls.size(); i++) {
			sent.add(calls.get(i).send(connections.get(i).async()));
		}
		List<byte[]> replies = ScriptCall.awaitAll(sent, deadline);
		Map<StatefulRedisConnection<byte[], byte[]>, RedisFuture<Long>> waits = new HashMap<>();
		try {
			for (int i = 0; i < replies.size(); i++) {
				if (Replies.settlement(replies.get(i)) == Settlement.SETTLED) {
					waits.computeIfAbsent(connections.get(i),
							(connection) -> connection.async().waitForReplication(this.replicas, this.wait.toMillis()));
				}
			}
			for (Map.Entry<StatefulRedisConnection<byte[], byte[]>, RedisFuture<Long>> wait : waits.entrySet()) {
				long confirmed = deadline.await(wait.getValue());
				// Without a write on a new connection, WAIT counts every replica.
				boolean reconnected = !Integer.valueOf(disconnects(wait.getKey()))
					.equals(disconnectsBefore.get(wait.getKey()));
				if (confirmed < this.replicas || reconnected) {
					throw new IdempotencyStoreUnavailableException(
							confirmed + " of " + this.replicas + " required replicas confirmed the completion within "
									+ this.wait + "; the completion is retried",
							null);
				}
			}
			return replies;
		}
		finally {
			waits.values().forEach((wait) -> wait.cancel(false));
		}
	}

	private int disconnects(StatefulRedisConnection<byte[], byte[]> connection) {
		return this.disconnects.computeIfAbsent(connection, (added) -> {
			AtomicInteger count = new AtomicInteger();
			added.addListener(new RedisConnectionStateListener() {

				@Override
				public void onRedisDisconnected(RedisChannelHandler<?, ?> disconnected) {
					count.incrementAndGet();
				}

			});
			return count;
		}).get();
	}

	StatefulRedisConnection<byte[], byte[]> connection(byte[] key, Deadline deadline)
			throws ExecutionException, TimeoutException {
		StatefulConnection<byte[], byte[]> connection = this.connection.open(deadline);
		if (connection instanceof StatefulRedisClusterConnection<byte[], byte[]> cluster) {
			RedisClusterNode node = cluster.getPartitions().getMasterBySlot(SlotHash.getSlot(key));
			if (node == null) {
				throw new RedisException("No node of the Redis cluster serves the slot of the key");
			}
			return deadline.await(cluster.getConnectionAsync(node.getNodeId()));
		}
		return (StatefulRedisConnection<byte[], byte[]>) connection;
	}

	void close() {
		this.connection.close();
	}

}
