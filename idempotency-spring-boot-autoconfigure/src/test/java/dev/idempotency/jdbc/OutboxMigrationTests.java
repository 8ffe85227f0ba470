package dev.idempotency.jdbc;

import java.util.List;
import java.util.Set;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import dev.idempotency.testsupport.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the schema of an outbox on PostgreSQL.
 */
class OutboxMigrationTests {

	private static final String TABLE = "idempotency_outbox";

	@RegisterExtension
	TestDatabase database = TestDatabase.create();

	@BeforeEach
	void create() {
		JdbcSchemaMigration.migrateOutbox(this.database.pool(), TABLE);
	}

	// A server in FIPS mode refuses md5().
	@Test
	void neitherIndexesNorStatementsUseMd5() {
		List<String> indexes = this.database.jdbc()
			.queryForList("SELECT indexdef FROM pg_indexes WHERE tablename = 'idempotency_outbox'", String.class);
		assertThat(indexes).hasSizeGreaterThan(5).noneMatch((index) -> index.contains("md5"));
		assertThat(new PostgresOutboxSql(TableName.of(TABLE)).claims(Set.of()).toString()).doesNotContain("md5");
	}

	@Test
	void vacuumAlwaysCleansTheIndexes() {
		assertThat(this.database.jdbc()
			.queryForObject(
					"SELECT array_to_string(reloptions, ',') FROM pg_class WHERE relname = 'idempotency_outbox'",
					String.class))
			.contains("vacuum_index_cleanup=on", "autovacuum_vacuum_threshold=5000");
	}

}
