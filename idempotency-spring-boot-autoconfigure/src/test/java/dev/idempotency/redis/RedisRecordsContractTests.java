package dev.idempotency.redis;

import java.time.Duration;

import dev.idempotency.contract.IdempotencyRecordsContract;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestRedis;

/**
 * The contract of {@link RedisIdempotencyStore} for people on one server.
 */
class RedisRecordsContractTests extends IdempotencyRecordsContract {

	// With glob signs, which a scan must not read as such.
	private static final RedisIdempotencyStore store = new RedisIdempotencyStore(TestRedis.factory(Servers.redis()),
			"records:[a]*?", 0, TestRedis.TIMEOUT);

	static {
		TestRedis.awaitContact(store);
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
