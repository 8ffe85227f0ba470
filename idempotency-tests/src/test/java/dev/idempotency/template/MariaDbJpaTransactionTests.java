package dev.idempotency.template;

import org.junit.jupiter.api.Tag;

import dev.idempotency.testsupport.TestDatabase;

/**
 * Tests for {@link IdempotencyTemplate} with handlers that use JPA on MariaDB.
 */
@Tag("slow")
class MariaDbJpaTransactionTests extends JpaTransactionTests {

	@Override
	TestDatabase newDatabase() {
		return TestDatabase.mariaDb();
	}

}
