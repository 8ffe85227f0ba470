package dev.idempotency.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * How the transactions of the store's database are managed.
 *
 * @param manager the manager, {@code null} if there is none
 */
record StoreTransactions(@Nullable PlatformTransactionManager manager) {

}
