package dev.idempotency.memory;

import dev.idempotency.contract.IdempotencyRecordsContract;

/**
 * Contract tests for the records of {@link InMemoryIdempotencyStore}.
 */
class InMemoryRecordsContractTests extends IdempotencyRecordsContract {

	private static final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

	@Override
	public InMemoryIdempotencyStore store() {
		return store;
	}

}
