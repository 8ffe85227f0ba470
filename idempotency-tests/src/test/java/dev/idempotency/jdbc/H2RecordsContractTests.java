package dev.idempotency.jdbc;

import dev.idempotency.contract.IdempotencyRecordsContract;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of the operator's view of {@link JdbcIdempotencyStore} on H2.
 */
class H2RecordsContractTests extends IdempotencyRecordsContract {

	private static final TestDatabase database = TestDatabase.h2();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

}
