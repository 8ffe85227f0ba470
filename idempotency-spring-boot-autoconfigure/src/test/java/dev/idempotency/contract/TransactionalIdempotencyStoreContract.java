package dev.idempotency.contract;

import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.store.TransactionalIdempotencyStore;

/**
 * What every {@link TransactionalIdempotencyStore} must do, what is asked of every store
 * included.
 *
 * @since 0.1.0
 */
public abstract class TransactionalIdempotencyStoreContract extends IdempotencyStoreContract
		implements BatchTransactionContract, InsertContract, NotedFailureContract, TransactionClaimContract {

	@Override
	public abstract TransactionalIdempotencyStore store();

	/**
	 * The transactions that the store takes part in.
	 * @return their manager
	 */
	@Override
	public abstract PlatformTransactionManager transactionManager();

}
