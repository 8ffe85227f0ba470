package dev.idempotency.contract;

import java.time.Duration;

import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

import dev.idempotency.store.IdempotencyStore;

/**
 * What every {@link IdempotencyStore} must do. Not tested, because it takes more than a
 * store: that calls end in time, and what they throw when the store is out of reach. What
 * they throw when the store refuses them is tested with a store that {@link #refused()}
 * names.
 *
 * @since 0.1.0
 */
@Execution(ExecutionMode.CONCURRENT)
public abstract class IdempotencyStoreContract implements BatchClaimContract, BatchSettlementContract, ClaimContract,
		CompetitionContract, FencingContract, FindContract, FingerprintContract, KeyContract, RefusalContract,
		RenewalContract, RepetitionContract, RestoreContract, RetentionContract, SequenceContract, SettlementContract {

	/**
	 * The store under test.
	 * @return the same store each time
	 */
	@Override
	public abstract IdempotencyStore store();

	/**
	 * How long threads compete for keys.
	 * @return the time
	 */
	@Override
	public Duration competition() {
		return Duration.ofSeconds(3);
	}

}
