package dev.idempotency.redis;

import java.time.Duration;

import org.springframework.data.redis.connection.RedisClusterConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.test.RedisCluster;
import dev.idempotency.test.RedisProcess;
import dev.idempotency.test.TestRedis;

/**
 * The contract of {@link RedisIdempotencyStore} on a cluster.
 */
class RedisClusterStoreContractTests extends IdempotencyStoreContract {

	// Left open: jqwik, which runs a part of it, does not end what Jupiter begins.
	private static final LettuceConnectionFactory factory = start();

	private static final RedisIdempotencyStore store = TestRedis.store(factory, 0);

	static {
		TestRedis.awaitContact(store);
	}

	// Also for the contract of the records: six servers take their time.
	static LettuceConnectionFactory factory() {
		return factory;
	}

	private static LettuceConnectionFactory start() {
		RedisClusterConfiguration configuration = new RedisClusterConfiguration();
		for (RedisProcess node : new RedisCluster().nodes()) {
			configuration.clusterNode(node.host(), node.port());
		}
		return TestRedis.started(new LettuceConnectionFactory(configuration));
	}

	@Override
	public RedisIdempotencyStore store() {
		return store;
	}

	// The end of the retention is read off two clocks of the server, each in
	// milliseconds.
	@Override
	public Duration precision() {
		return Duration.ofMillis(2);
	}

	// A busy server may rest between a look at one of them and at the other.
	@Override
	public Duration precisionOfTheEnd() {
		return Duration.ofMillis(20);
	}

}
