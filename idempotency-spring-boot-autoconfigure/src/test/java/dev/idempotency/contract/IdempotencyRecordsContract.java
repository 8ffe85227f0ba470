package dev.idempotency.contract;

import java.time.Duration;

import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import dev.idempotency.store.IdempotencyRecords;
import dev.idempotency.store.IdempotencyStore;

/**
 * What every {@link IdempotencyRecords} must do. Not tested, because it takes more than a
 * store: that calls end in time, and what is left out of a large one.
 *
 * @since 0.1.0
 */
@Execution(ExecutionMode.CONCURRENT)
public abstract class IdempotencyRecordsContract
		implements InterventionContract, BulkEvictionContract, ListContract, OverviewContract {

	/**
	 * The store under test, which has some hundred records at most.
	 * @return the same store each time
	 */
	@Override
	public abstract IdempotencyStore store();

	@Override
	public IdempotencyRecords records() {
		return store().records().orElseThrow();
	}

	@Override
	public Duration competition() {
		return Duration.ZERO;
	}

}
