package dev.idempotency.redis;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeoutException;

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
			EvictionWarning.check(commands(connection));
			return true;
		}
		finally {
			connection.close();
		}
	}

	<T> T shared(SharedWork<T> work) {
		return limited((deadline) -> {
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
		try {
			return work.until(Deadline.after(this.timeout));
		}
		catch (ExecutionException | TimeoutException | RedisException | DataAccessException
				| IllegalStateException ex) {
			throw Errors.unavailable(ex, this.timeout);
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
