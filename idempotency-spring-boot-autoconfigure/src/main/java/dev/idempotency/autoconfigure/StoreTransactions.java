package dev.idempotency.autoconfigure;

import org.jspecify.annotations.Nullable;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * The transaction manager of the store's database.
 *
 * @param manager the transaction manager, {@code null} if there is none
 */
record StoreTransactions(@Nullable PlatformTransactionManager manager) {

}
