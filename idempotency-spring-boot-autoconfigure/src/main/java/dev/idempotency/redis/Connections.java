package dev.idempotency.redis;

import java.net.SocketAddress;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.RedisException;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import org.springframework.dao.DataAccessException;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Runs our commands, each within a time of our own, on the connection that all threads
 * share.
 */
final class Connections {

	private final LettuceConnectionFactory factory;

	private final Duration timeout;

	private final Opening<Boolean> contact = new Opening<>(this::contact);

	Connections(LettuceConnectionFactory factory, Duration timeout) {
		this.factory = factory;
		this.timeout = timeout;
	}

	private boolean contact() {
		RedisConnection connection = this.factory.getConnection();
		try {
			commands(connection);
			return true;
		}
		finally {
			connection.close();
		}
	}

	<T> T shared(SharedWork<T> work) {
		return shared(this.timeout, work);
	}

	<T> T shared(Duration limit, SharedWork<T> work) {
		return limited(limit, (deadline) -> {
			// Later calls find the connection there: it reconnects by itself.
			deadline.await(this.contact.get(this.factory.getNativeClient()));
			RedisConnection connection = this.factory.getConnection();
			try {
				return work.with(commands(connection), deadline);
			}
			finally {
				connection.close();
			}
		});
	}

	<T> T limited(Work<T> work) {
		return limited(this.timeout, work);
	}

	private static <T> T limited(Duration limit, Work<T> work) {
		try {
			return work.until(Deadline.after(limit));
		}
		catch (ExecutionException | TimeoutException | RedisException | DataAccessException
				| IllegalStateException ex) {
			throw Errors.blocked(ex, limit);
		}
	}

	/**
	 * Be notified of each new connection of the client. Where each call connects anew, a
	 * connection says nothing.
	 * @param callback what is notified, on a thread that must not be blocked
	 */
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

	/**
	 * What is done within the time.
	 *
	 * @param <T> the type of the answer
	 */
	interface Work<T> {

		T until(Deadline deadline) throws ExecutionException, TimeoutException;

	}

	/**
	 * What is done within the time on the shared connection.
	 *
	 * @param <T> the type of the answer
	 */
	interface SharedWork<T> {

		T with(RedisClusterAsyncCommands<byte[], byte[]> commands, Deadline deadline)
				throws ExecutionException, TimeoutException;

	}

}
