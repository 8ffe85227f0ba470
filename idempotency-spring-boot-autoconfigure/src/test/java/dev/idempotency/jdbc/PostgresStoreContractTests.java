package dev.idempotency.jdbc;

import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.contract.TransactionalIdempotencyStoreContract;
import dev.idempotency.test.TestDatabase;

/**
 * The contract of {@link JdbcIdempotencyStore} on PostgreSQL.
 */
class PostgresStoreContractTests extends TransactionalIdempotencyStoreContract {

	// Left open: jqwik, which runs a part of it, does not end what Jupiter begins.
	private static final TestDatabase database = TestDatabase.create();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
