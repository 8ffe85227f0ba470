package dev.idempotency.template;

import java.time.Duration;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.memory.InMemoryIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.TestRedis;

/**
 * The contract of a {@link StoreMigration} that writes Redis and an in-memory store.
 */
class DualWriteContractTests extends IdempotencyStoreContract {

	// Not closed: jqwik runs a part of the tests and does not call Jupiter's callbacks.
	private static final TestRedis redis = TestRedis.create();

	private static final IdempotencyStore store = StoreMigration.withDualWrite(redis.store(),
			new InMemoryIdempotencyStore(), (answer) -> {
			});

	@Override
	public IdempotencyStore store() {
		return store;
	}

	@Override
	public Duration competition() {
		return Duration.ofSeconds(1);
	}

	@Override
	public Duration precision() {
		return Duration.ofMillis(2);
	}

}
