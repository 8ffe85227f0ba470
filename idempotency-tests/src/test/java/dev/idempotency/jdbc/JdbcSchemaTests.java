/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.outbox.OutboxRow;
import dev.idempotency.outbox.OutboxStore;
import dev.idempotency.store.Claim;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for {@link JdbcSchemaMigration} and {@link JdbcSchemaValidation}.
 */
class JdbcSchemaTests {

	private String url;

	private HikariDataSource pool;

	private JdbcTemplate jdbc;

	@BeforeEach
	void createDatabase() {
		this.url = Servers.newDatabase();
		this.pool = Servers.pool(this.url);
		this.jdbc = Servers.jdbc(this.url);
	}

	@AfterEach
	void closePool() {
		this.pool.close();
	}

	@ParameterizedTest
	@ValueSource(strings = { "records", "ops.records", "Ops.Records" })
	void storeWorksOnAMigratedTable(String name) {
		this.jdbc.execute("CREATE SCHEMA ops");
		JdbcSchemaMigration.migrate(this.pool, name);
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.pool, name, TestDatabase.TIMEOUT);
		assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey()))).isEqualTo(new Claim.Acquired(1, 1));
	}

	// The driver writes the parameters into the statements, without their types.
	@ParameterizedTest
	@EnumSource
	void storeAndOutboxWorkWithTheSimpleQueryModeOfTheDriver(Layout layout) {
		try (HikariDataSource simple = Servers.pool(this.url + "?preferQueryMode=simple")) {
			JdbcSchemaMigration.migrate(simple, simple, TestDatabase.TABLE, layout);
			JdbcSchemaValidation.validate(simple, TestDatabase.TABLE, layout, true);
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(simple, TestDatabase.TABLE, TestDatabase.TIMEOUT,
					layout, TestDatabase.PARTITION_INTERVAL, null);
			assertThat(store.claim(List.of(TestDatabase.request(TestDatabase.newKey()))))
				.containsExactly(new Claim.Acquired(1, 1));
			migrateAndUseOutbox(simple);
		}
	}

	static void migrateAndUseOutbox(DataSource database) {
		String table = "idempotency_outbox";
		JdbcSchemaMigration.migrateOutbox(database, database, table);
		JdbcSchemaValidation.validateOutbox(database, table, false, true);
		JdbcTransactionManager manager = new JdbcTransactionManager(database);
		JdbcOutboxStore outbox = new JdbcOutboxStore(database, manager, table, TestDatabase.TIMEOUT,
				Duration.ofHours(1), false);
		OutboxRow row = new OutboxRow(UUID.randomUUID(), "topic", new byte[] { 1 }, new byte[] { 2 }, List.of(), "key",
				"type", "id", "type");
		new TransactionTemplate(manager).executeWithoutResult((status) -> outbox.insert(List.of(row)));
		for (Set<String> without : List.of(Set.of("topic"), Set.of("other"))) {
			try (OutboxStore.Claim claim = outbox.claim(10, without)) {
				assertThat(claim.rows()).hasSize(without.contains("topic") ? 0 : 1);
				claim.settle(claim.rows(), List.of());
			}
		}
		assertThat(outbox.status().pending()).isZero();
	}

	@Test
	void databaseWithAnotherEncodingIsRefused() {
		String name = Servers.unique("latin");
		this.jdbc
			.execute("CREATE DATABASE " + name + " ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
		try (HikariDataSource latin = Servers.pool(Servers.postgres().url(name))) {
			String table = "records";
			JdbcSchemaMigration.migrate(latin, table);
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaValidation.validate(latin, table, Layout.SINGLE, true))
				.withMessageContaining("has the encoding LATIN1");
		}
	}

	@Test
	void tableAndItsHistoryAreInTheNamedSchema() {
		this.jdbc.execute("CREATE SCHEMA ops");
		JdbcSchemaMigration.migrate(this.pool, "ops.records");
		assertThat(tables()).containsExactly("ops.records", "ops.records_offset", "ops.records_schema_history");
	}

	@Test
	void repeatedMigrationKeepsTheRecords() {
		JdbcSchemaMigration.migrate(this.pool, "records");
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.pool, "records", TestDatabase.TIMEOUT);
		one(store).claim(TestDatabase.request(TestDatabase.newKey()));
		JdbcSchemaMigration.migrate(this.pool, "records");
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM records", Long.class)).isOne();
	}

	@Test
	@Tag("promise-13")
	void historyOfTheApplicationIsUnchanged() {
		this.jdbc.execute("CREATE TABLE flyway_schema_history (version text)");
		JdbcSchemaMigration.migrate(this.pool, "records");
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM flyway_schema_history", Long.class)).isZero();
	}

	@Test
	void migratedTableIsValid() {
		JdbcSchemaMigration.migrate(this.pool, "records");
		assertThatNoException()
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, "records", Layout.SINGLE, true));
	}

	@Test
	@Tag("promise-12")
	void missingTableIsInvalid() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, "records", Layout.SINGLE, true));
	}

	// Not every pool rolls back a returned connection.
	@Test
	void noLaneIsLockedAfterValidation() {
		String table = "box";
		JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, table);
		SingleConnectionDataSource pooled = new SingleConnectionDataSource(this.pool.getJdbcUrl(),
				Servers.postgres().username(), Servers.postgres().password(), true);
		pooled.setAutoCommit(false);
		try {
			JdbcSchemaValidation.validateOutbox(pooled, table, false, true);
			assertThat(this.jdbc.queryForObject(
					"SELECT count(*) FROM pg_locks WHERE relation IN ('box'::regclass, 'box_lane'::regclass)",
					Long.class))
				.isZero();
		}
		finally {
			pooled.destroy();
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					ALTER TABLE records ALTER COLUMN fence TYPE bigint            | its column 'fence' is of the type bigint instead of integer
					ALTER TABLE records ALTER COLUMN scope TYPE varchar(20)       | its column 'scope' is of the type character varying(20) instead of text
					ALTER TABLE records ALTER COLUMN token SET NOT NULL           | its column 'token' must not be NOT NULL
					ALTER TABLE records ADD COLUMN tenant text NOT NULL           | its additional column 'tenant' is NOT NULL and has no default
					ALTER TABLE records DROP COLUMN fence                         | its column 'fence' is missing
					ALTER TABLE records DROP CONSTRAINT records_pk | its column 'id' has no unique index of its own, so that every copy of a record would be processed
					ALTER TABLE records DROP CONSTRAINT records_pk, ADD PRIMARY KEY (id, expires_at) | its column 'id' has no unique index of its own, so that every copy of a record would be processed
					ALTER TABLE records DROP CONSTRAINT records_pk; CREATE UNIQUE INDEX ON records (id) WHERE state = 'C' | its column 'id' has no unique index of its own, so that every copy of a record would be processed
					ALTER TABLE records DROP CONSTRAINT records_pk, ADD UNIQUE (id) DEFERRABLE | its column 'id' has no unique index of its own, so that every copy of a record would be processed
					""")
	@Tag("promise-12")
	void tableThatCannotStoreARecordIsInvalid(String change, String problem) {
		JdbcSchemaMigration.migrate(this.pool, "records");
		this.jdbc.execute(change);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, "records", Layout.SINGLE, true))
			.withMessage("The table 'records' cannot be used: " + problem + ".");
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|',
			textBlock = """
					ALTER TABLE box ALTER COLUMN position DROP IDENTITY           | its column 'position' has no default
					ALTER TABLE box ALTER COLUMN created_at DROP DEFAULT          | its column 'created_at' has no default
					ALTER TABLE box ALTER COLUMN payload SET NOT NULL             | its column 'payload' must not be NOT NULL
					ALTER TABLE box_lane ALTER COLUMN lane TYPE integer           | its column 'lane' is of the type integer instead of smallint
					DROP TABLE box_lane                                           | it does not exist
					ALTER TABLE box_lane DROP CONSTRAINT box_lane_pk | its column 'lane' has no unique index of its own, so that every copy of a record would be processed
					""")
	@Tag("promise-12")
	void outboxThatCannotStoreAMessageIsInvalid(String change, String problem) {
		JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, "box");
		this.jdbc.execute(change);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validateOutbox(this.pool, "box", false, true))
			.withMessageStartingWith("The table 'box")
			.withMessageEndingWith("' cannot be used: " + problem + ".");
	}

	@Test
	@Tag("promise-13")
	void tableWithAdditionalColumnsThatNeedNoValueIsValid() {
		JdbcSchemaMigration.migrate(this.pool, "records");
		this.jdbc.execute("ALTER TABLE records ADD COLUMN note text, ADD COLUMN tenant text NOT NULL DEFAULT 'none', "
				+ "ADD COLUMN number bigint GENERATED BY DEFAULT AS IDENTITY");
		assertThatNoException()
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, "records", Layout.SINGLE, true));
	}

	@Test
	@Tag("promise-13")
	void tableWithAnAdditionalColumnThatATriggerSetsIsValid() {
		JdbcSchemaMigration.migrate(this.pool, "records");
		this.jdbc.execute("ALTER TABLE records ADD COLUMN tenant text NOT NULL");
		this.jdbc.execute("CREATE FUNCTION tenant() RETURNS trigger LANGUAGE plpgsql AS "
				+ "$$ BEGIN NEW.tenant := current_user; RETURN NEW; END $$");
		this.jdbc.execute("CREATE TRIGGER tenant BEFORE INSERT ON records FOR EACH ROW EXECUTE FUNCTION tenant()");
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.pool, "records", TestDatabase.TIMEOUT);
		assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey()))).isEqualTo(new Claim.Acquired(1, 1));
		assertThatNoException()
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, "records", Layout.SINGLE, true));
	}

	@Test
	void nameInAnotherCaseIsTheSameTable() {
		JdbcSchemaMigration.migrate(this.pool, "records");
		JdbcSchemaMigration.migrate(this.pool, "RECORDS");
		JdbcSchemaValidation.validate(this.pool, "Records", Layout.SINGLE, true);
		assertThat(tables()).containsExactly("public.records", "public.records_offset",
				"public.records_schema_history");
	}

	@ParameterizedTest
	@EnumSource
	void tableThatWasCreatedByHandIsMigrated(Layout layout) {
		String table = "records";
		JdbcSchemaMigration.migrate(this.pool, this.pool, table, layout);
		List<String> versions = versions("records_schema_history");
		this.jdbc.execute("DROP TABLE records_schema_history");
		JdbcSchemaMigration.migrate(this.pool, this.pool, table, layout);
		JdbcSchemaValidation.validate(this.pool, table, layout, true);
		assertThat(versions("records_schema_history")).isNotEmpty().isSubsetOf(versions);
	}

	@Test
	void outboxThatWasCreatedByHandIsMigrated() {
		String table = "box";
		JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, table);
		this.jdbc.execute("DROP TABLE box_schema_history");
		JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, table);
		assertThatNoException().isThrownBy(() -> JdbcSchemaValidation.validateOutbox(this.pool, table, false, true));
	}

	private List<String> versions(String history) {
		return this.jdbc.queryForList("SELECT version FROM " + history + " ORDER BY installed_rank", String.class);
	}

	private List<String> tables() {
		return this.jdbc.queryForList("SELECT schemaname || '.' || tablename FROM pg_tables "
				+ "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1", String.class);
	}

}
