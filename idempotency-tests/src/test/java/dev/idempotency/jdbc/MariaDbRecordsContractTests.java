package dev.idempotency.jdbc;

import dev.idempotency.contract.IdempotencyRecordsContract;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of the operator's view of {@link JdbcIdempotencyStore} on MariaDB.
 */
class MariaDbRecordsContractTests extends IdempotencyRecordsContract {

	private static final TestDatabase database = TestDatabase.mariaDb();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

}
