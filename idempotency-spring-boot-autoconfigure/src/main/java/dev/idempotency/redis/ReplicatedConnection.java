package dev.idempotency.redis;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.ByteArrayCodec;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.IdempotencyStoreUnavailableException;

/**
 * Waits until replicas have confirmed a write. It has a connection of its own, opened
 * when it is needed: {@code WAIT} blocks its connection, and counts the writes of it
 * only; in a cluster it is that to the node of the key.
 */
final class ReplicatedConnection {

	private final LettuceConnectionFactory factory;

	private final int replicas;

	private final Duration wait;

	private final Opening<StatefulConnection<byte[], byte[]>> opening = new Opening<>(this::open);

	private final Map<StatefulConnection<?, ?>, Disconnects> disconnects = new ConcurrentHashMap<>();

	ReplicatedConnection(LettuceConnectionFactory factory, int replicas, Duration timeout) {
		this.factory = factory;
		this.replicas = replicas;
		// So that the answer, too, comes within the time-out.
		this.wait = timeout.dividedBy(2);
	}

	private StatefulConnection<byte[], byte[]> open() {
		return (this.factory.getRequiredNativeClient() instanceof RedisClusterClient cluster)
				? cluster.connect(ByteArrayCodec.INSTANCE)
				: ((RedisClient) this.factory.getRequiredNativeClient()).connect(ByteArrayCodec.INSTANCE);
	}

	// All are sent before the first answer is awaited, and what was written through one
	// connection is confirmed to it at once.
	List<byte[]> run(List<Invocation> invocations, Deadline deadline) throws ExecutionException, TimeoutException {
		List<StatefulRedisConnection<byte[], byte[]>> connections = new ArrayList<>();
		for (Invocation invocation : invocations) {
			connections.add(connection(invocation.key(), deadline));
		}
		Map<StatefulRedisConnection<byte[], byte[]>, Integer> before = new HashMap<>();
		connections.forEach((connection) -> before.computeIfAbsent(connection, this::disconnects));
		List<ScriptCall> calls = new ArrayList<>();
		for (int i = 0; i < invocations.size(); i++) {
			calls.add(new ScriptCall(connections.get(i).async(), invocations.get(i)));
		}
		List<byte[]> answers = ScriptCall.awaitAll(calls, deadline);
		Set<StatefulRedisConnection<byte[], byte[]>> written = new HashSet<>();
		for (int i = 0; i < answers.size(); i++) {
			if (Replies.isSettled(answers.get(i))) {
				written.add(connections.get(i));
			}
		}
		before.keySet().retainAll(written);
		confirm(before, deadline);
		return answers;
	}

	RedisClusterAsyncCommands<byte[], byte[]> commands(byte[] key, Deadline deadline)
			throws ExecutionException, TimeoutException {
		return connection(key, deadline).async();
	}

	private void confirm(Map<StatefulRedisConnection<byte[], byte[]>, Integer> written, Deadline deadline)
			throws ExecutionException, TimeoutException {
		Map<StatefulRedisConnection<byte[], byte[]>, RedisFuture<Long>> waits = new HashMap<>();
		try {
			written.keySet()
				.forEach((connection) -> waits.put(connection,
						connection.async().waitForReplication(this.replicas, this.wait.toMillis())));
			for (Map.Entry<StatefulRedisConnection<byte[], byte[]>, RedisFuture<Long>> wait : waits.entrySet()) {
				long confirmed = deadline.await(wait.getValue());
				// A new connection has written nothing, which every replica confirms.
				if (confirmed < this.replicas
						|| !Integer.valueOf(disconnects(wait.getKey())).equals(written.get(wait.getKey()))) {
					throw new IdempotencyStoreUnavailableException(
							confirmed + " of " + this.replicas + " replicas confirmed the completion within "
									+ this.wait + "; it is repeated until they do",
							null);
				}
			}
		}
		finally {
			waits.values().forEach((wait) -> wait.cancel(false));
		}
	}

	private int disconnects(StatefulRedisConnection<byte[], byte[]> connection) {
		return this.disconnects.computeIfAbsent(connection, Disconnects::of).count.get();
	}

	private StatefulRedisConnection<byte[], byte[]> connection(byte[] key, Deadline deadline)
			throws ExecutionException, TimeoutException {
		StatefulConnection<byte[], byte[]> connection = deadline
			.await(this.opening.get(this.factory.getNativeClient()));
		if (connection instanceof StatefulRedisClusterConnection<byte[], byte[]> cluster) {
			RedisClusterNode node = cluster.getPartitions().getMasterBySlot(SlotHash.getSlot(key));
			if (node == null) {
				throw new RedisException("No node of the cluster serves the slot of the key");
			}
			return deadline.await(cluster.getConnectionAsync(node.getNodeId()));
		}
		return (StatefulRedisConnection<byte[], byte[]>) connection;
	}

	void close() {
		StatefulConnection<byte[], byte[]> connection = this.opening.getNow();
		if (connection != null) {
			connection.closeAsync();
		}
	}

	/**
	 * How often a connection was lost.
	 */
	private static final class Disconnects implements RedisConnectionStateListener {

		private final AtomicInteger count = new AtomicInteger();

		static Disconnects of(StatefulConnection<?, ?> connection) {
			Disconnects disconnects = new Disconnects();
			connection.addListener(disconnects);
			return disconnects;
		}

		@Override
		public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
			this.count.incrementAndGet();
		}

	}

}
