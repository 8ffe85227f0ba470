package dev.idempotency.memory;

import dev.idempotency.contract.IdempotencyRecordsContract;

/**
 * The contract of {@link InMemoryIdempotencyStore} for people.
 */
class InMemoryRecordsContractTests extends IdempotencyRecordsContract {

	private static final InMemoryIdempotencyStore store = new InMemoryIdempotencyStore();

	@Override
	public InMemoryIdempotencyStore store() {
		return store;
	}

}
