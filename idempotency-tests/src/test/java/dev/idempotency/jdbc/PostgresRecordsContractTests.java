package dev.idempotency.jdbc;

import dev.idempotency.contract.IdempotencyRecordsContract;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of the operator's view of {@link JdbcIdempotencyStore} on PostgreSQL.
 */
class PostgresRecordsContractTests extends IdempotencyRecordsContract {

	private static final TestDatabase database = TestDatabase.create();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

}
