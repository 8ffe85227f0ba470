package dev.idempotency.jdbc;

import java.util.Optional;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;

import dev.idempotency.contract.TransactionalIdempotencyStoreContract;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.TestDatabase;

/**
 * The contract of {@link JdbcIdempotencyStore} on MariaDB with its own driver.
 */
class MariaDbStoreContractTests extends TransactionalIdempotencyStoreContract {

	// It is not closed: jqwik runs a part of the tests and does not close the
	// resources of Jupiter.
	private static final TestDatabase database = TestDatabase.mariaDb();

	@Override
	public JdbcIdempotencyStore store() {
		return database.store();
	}

	@Override
	public Optional<IdempotencyStore> refused() {
		HikariConfig config = new HikariConfig();
		database.pool().copyStateTo(config);
		config.setMaximumPoolSize(1);
		config.setConnectionInitSql("SET SESSION TRANSACTION READ ONLY");
		return Optional
			.of(new JdbcIdempotencyStore(new HikariDataSource(config), TestDatabase.TABLE, TestDatabase.TIMEOUT));
	}

	@Override
	public PlatformTransactionManager transactionManager() {
		return new JdbcTransactionManager(database.pool());
	}

}
