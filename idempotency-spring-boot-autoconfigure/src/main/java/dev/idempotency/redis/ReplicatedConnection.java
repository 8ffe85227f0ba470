package dev.idempotency.redis;

import java.time.Duration;
import java.util.List;
import java.util.Map;
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

	List<Object> run(Script script, Deadline deadline, byte[] key, byte[]... arguments)
			throws ExecutionException, TimeoutException {
		StatefulRedisConnection<byte[], byte[]> connection = connection(key, deadline);
		Disconnects seen = this.disconnects.computeIfAbsent(connection, Disconnects::of);
		int before = seen.count.get();
		List<Object> answer = ScriptCall.run(connection.async(), script, deadline, key, arguments);
		if (Replies.isSettled(answer)) {
			long confirmed = confirmed(connection, deadline);
			// A new connection has written nothing, which every replica confirms.
			if (confirmed < this.replicas || seen.count.get() != before) {
				throw new IdempotencyStoreUnavailableException(confirmed + " of " + this.replicas
						+ " replicas confirmed the completion within " + this.wait + "; it is repeated until they do",
						null);
			}
		}
		return answer;
	}

	private long confirmed(StatefulRedisConnection<byte[], byte[]> connection, Deadline deadline)
			throws ExecutionException, TimeoutException {
		RedisFuture<Long> future = connection.async().waitForReplication(this.replicas, this.wait.toMillis());
		try {
			return deadline.await(future);
		}
		finally {
			future.cancel(false);
		}
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
