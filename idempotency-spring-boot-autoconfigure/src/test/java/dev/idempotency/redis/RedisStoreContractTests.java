package dev.idempotency.redis;

import java.time.Duration;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.test.TestRedis;

/**
 * The contract of {@link RedisIdempotencyStore} on one server.
 */
class RedisStoreContractTests extends IdempotencyStoreContract {

	// Left open: jqwik, which runs a part of it, does not end what Jupiter begins.
	private static final TestRedis redis = TestRedis.create();

	@Override
	public RedisIdempotencyStore store() {
		return redis.store();
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
