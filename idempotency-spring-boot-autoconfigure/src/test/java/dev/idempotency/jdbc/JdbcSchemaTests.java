package dev.idempotency.jdbc;

import java.util.List;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

import dev.idempotency.Claim;
import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.test.Servers;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for {@link JdbcSchemaMigration} and {@link JdbcSchemaValidation}.
 */
class JdbcSchemaTests {

	private HikariDataSource pool;

	private JdbcTemplate jdbc;

	@BeforeEach
	void createDatabase() {
		String url = Servers.newDatabase();
		this.pool = Servers.pool(url);
		this.jdbc = Servers.jdbc(url);
	}

	@AfterEach
	void closePool() {
		this.pool.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "records", "ops.records", "Ops.Records" })
	void storeWorksOnAMigratedTable(String name) {
		this.jdbc.execute("CREATE SCHEMA ops");
		JdbcSchemaMigration.migrate(this.pool, TableName.of(name));
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.pool, TableName.of(name), TestDatabase.TIMEOUT);
		assertThat(store.claim(TestDatabase.request(TestDatabase.newKey()))).isEqualTo(new Claim.Acquired(1, 1));
	}

	@Test
	void databaseWithoutUnicodeIsRefused() {
		String name = Servers.unique("latin");
		this.jdbc
			.execute("CREATE DATABASE " + name + " ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
		try (HikariDataSource latin = Servers.pool(Servers.postgres().url(name))) {
			TableName table = TableName.of("records");
			JdbcSchemaMigration.migrate(latin, table);
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaValidation.validate(latin, table))
				.withMessageContaining("has the encoding LATIN1");
		}
	}

	@Test
	void tableAndItsHistoryAreInTheNamedSchema() {
		this.jdbc.execute("CREATE SCHEMA ops");
		JdbcSchemaMigration.migrate(this.pool, TableName.of("ops.records"));
		assertThat(tables()).containsExactly("ops.records", "ops.records_schema_history");
	}

	@Test
	void repeatedMigrationKeepsTheRecords() {
		JdbcSchemaMigration.migrate(this.pool, TableName.of("records"));
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.pool, TableName.of("records"), TestDatabase.TIMEOUT);
		store.claim(TestDatabase.request(TestDatabase.newKey()));
		JdbcSchemaMigration.migrate(this.pool, TableName.of("records"));
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM records", Long.class)).isOne();
	}

	@Test
	@Tag("promise-13")
	void historyOfTheApplicationIsNotTouched() {
		this.jdbc.execute("CREATE TABLE flyway_schema_history (version text)");
		JdbcSchemaMigration.migrate(this.pool, TableName.of("records"));
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM flyway_schema_history", Long.class)).isZero();
	}

	@Test
	void migratedTableIsValid() {
		JdbcSchemaMigration.migrate(this.pool, TableName.of("records"));
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TableName.of("records")));
	}

	@Test
	@Tag("promise-12")
	void missingTableIsInvalid() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TableName.of("records")));
	}

	@Test
	@Tag("promise-12")
	void tableWithoutAColumnIsInvalid() {
		JdbcSchemaMigration.migrate(this.pool, TableName.of("records"));
		this.jdbc.execute("ALTER TABLE records DROP COLUMN fence");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TableName.of("records")))
			.withMessageContaining("fence");
	}

	@Test
	@Tag("promise-12")
	void outboxWhoseLanesCannotBeLockedIsInvalid() {
		TableName table = TableName.of("box");
		JdbcSchemaMigration.migrateOutbox(this.pool, table);
		String login = Servers.unique("login");
		this.jdbc.execute("CREATE ROLE " + login + " LOGIN PASSWORD 'secret'");
		this.jdbc.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON box TO " + login);
		this.jdbc.execute("GRANT SELECT ON box_lane TO " + login);
		DataSource restricted = new DriverManagerDataSource(this.pool.getJdbcUrl(), login, "secret");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validateOutbox(restricted, table))
			.withMessageStartingWith("The table 'box' cannot be used: ")
			.withMessageContaining("box_lane")
			.satisfies((ex) -> assertThat(ex.action()).contains("UPDATE on 'box_lane'"));
		this.jdbc.execute("GRANT UPDATE ON box_lane TO " + login);
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validateOutbox(restricted, table));
	}

	// Not every pool ends the transaction of a connection that is given back.
	@Test
	void validationLocksNoLaneAfterItsEnd() {
		TableName table = TableName.of("box");
		JdbcSchemaMigration.migrateOutbox(this.pool, table);
		SingleConnectionDataSource pooled = new SingleConnectionDataSource(this.pool.getJdbcUrl(),
				Servers.postgres().username(), Servers.postgres().password(), true);
		pooled.setAutoCommit(false);
		try {
			JdbcSchemaValidation.validateOutbox(pooled, table);
			assertThat(this.jdbc.queryForObject(
					"SELECT count(*) FROM pg_locks WHERE relation IN ('box'::regclass, 'box_lane'::regclass)",
					Long.class))
				.isZero();
		}
		finally {
			pooled.destroy();
		}
	}

	private List<String> tables() {
		return this.jdbc.queryForList("SELECT schemaname || '.' || tablename FROM pg_tables "
				+ "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1", String.class);
	}

}
