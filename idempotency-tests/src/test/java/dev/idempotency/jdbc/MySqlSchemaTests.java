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

import com.zaxxer.hikari.HikariDataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.store.Claim;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for migrations, checks and privileges on MariaDB.
 */
@Tag("promise-12")
class MySqlSchemaTests {

	private static final String TABLE = TestDatabase.TABLE;

	private static final String OUTBOX = "idempotency_outbox";

	private String url;

	private HikariDataSource pool;

	private JdbcTemplate jdbc;

	@BeforeEach
	void create() {
		this.url = Servers.newMariaDb();
		this.pool = Servers.mySqlPool(this.url);
		this.jdbc = new JdbcTemplate(this.pool);
	}

	@AfterEach
	void close() {
		this.pool.close();
	}

	private JdbcIdempotencyStore store(HikariDataSource dataSource) {
		return new JdbcIdempotencyStore(dataSource, TABLE, TestDatabase.TIMEOUT);
	}

	@Test
	@Tag("promise-13")
	void migrationsCreateBothTablesAndKeepTheirOwnHistory() {
		for (int time = 0; time < 2; time++) {
			JdbcSchemaMigration.migrate(this.pool, TABLE);
			JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, OUTBOX);
		}
		JdbcSchemaValidation.validate(this.pool, TABLE, Layout.SINGLE, true);
		JdbcSchemaValidation.validateOutbox(this.pool, OUTBOX, false, true);
		assertThat(this.jdbc.queryForList("SHOW TABLES", String.class)).containsExactlyInAnyOrder(TABLE,
				TABLE + "_offset", TABLE + "_schema_history", OUTBOX, OUTBOX + "_lane", OUTBOX + "_schema_history");
	}

	@ParameterizedTest
	@ValueSource(strings = { "sql_mode='SIMULTANEOUS_ASSIGNMENT'", "sql_safe_updates=1" })
	void sessionSettingThatTheStatementsDoNotSupportIsRefused(String setting) {
		try (HikariDataSource other = Servers.mySqlPool(this.url + "&sessionVariables=" + setting)) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> store(other))
				.withMessageContaining(setting.replaceFirst("=.*", ""))
				.satisfies((ex) -> assertThat(ex.action()).contains("sessionVariables"));
		}
	}

	// The idempotency keys of two messages of the outbox could become equal, and marks
	// that are read wrongly would be copied to another scope.
	@ParameterizedTest
	@ValueSource(strings = { "characterEncoding=ISO-8859-1", "connectionCollation=utf8_general_ci",
			"characterSetResults=ISO-8859-1" })
	@Tag("promise-10")
	void connectionThatReplacesCharactersOfKeysIsRefused(String option) {
		try (HikariDataSource other = Servers.mySqlPool(Servers.newMySql() + "&" + option)) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaMigration.migrateOutbox(other, other, OUTBOX))
				.withMessageContaining("cannot transfer all characters")
				.satisfies((ex) -> assertThat(ex.action()).contains("'characterEncoding'"));
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "utf8mb4_turkish_ci", "binary" })
	void connectionWithAnotherCollationIsAccepted(String collation) {
		JdbcSchemaMigration.migrate(this.pool, TABLE);
		try (HikariDataSource other = Servers
			.mySqlPool(this.url + "&sessionVariables=collation_connection=" + collation)) {
			assertThat(store(other).claim(List.of(TestDatabase.request(IdempotencyKey.of("scope", "\uD83D\uDE00")))))
				.containsExactly(new Claim.Acquired(1, 1));
		}
	}

	@Test
	void failedMigrationIsRepeated() {
		// The second table is not created, because a view has its name.
		this.jdbc.execute("CREATE VIEW " + OUTBOX + "_lane AS SELECT 1 AS lane");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, OUTBOX));
		assertThat(this.jdbc.queryForList("SHOW TABLES LIKE '" + OUTBOX + "'", String.class)).as("half of it")
			.hasSize(1);
		this.jdbc.execute("DROP VIEW " + OUTBOX + "_lane");
		JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, OUTBOX);
		JdbcSchemaValidation.validateOutbox(this.pool, OUTBOX, false, true);
	}

	@Test
	void tableInAnotherDatabaseIsUsed() {
		String name = this.url.replaceFirst(".*/(\\w+)\\?.*", "$1");
		try (HikariDataSource other = Servers.mySqlPool(Servers.newMariaDb())) {
			JdbcSchemaMigration.migrate(other, name + "." + TABLE);
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(other, name + "." + TABLE, TestDatabase.TIMEOUT);
			assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey())))
				.isInstanceOf(Claim.Acquired.class);
		}
		assertThat(this.jdbc.queryForObject("SELECT COUNT(*) FROM " + TABLE, Integer.class)).isOne();
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', value = {
			"MODIFY expires_at DATETIME NOT NULL | of the type datetime instead of datetime(6)",
			"MODIFY id CHAR(36) NOT NULL | of the type char instead of binary(16)",
			"DROP COLUMN completed_at | is missing", "DROP PRIMARY KEY | its column 'id' has no unique index",
			"DROP PRIMARY KEY, ADD PRIMARY KEY (id, expires_at) | its column 'id' has no unique index",
			"DROP PRIMARY KEY, ADD UNIQUE (id(8)) | its column 'id' has no unique index",
			"ADD COLUMN tenant INTEGER NOT NULL | is NOT NULL and has no default",
			"MODIFY scope VARCHAR(512) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL | different keys are equal",
			"ENGINE = MyISAM | storage engine MyISAM" })
	void tableThatCannotHoldRecordsIsRefused(String change, String problem) {
		JdbcSchemaMigration.migrate(this.pool, TABLE);
		this.jdbc.execute("ALTER TABLE " + TABLE + " " + change);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.SINGLE, true))
			.withMessageContaining(problem);
	}

	@Test
	void tableThatDoesNotExistIsRefused() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.SINGLE, true))
			.withMessageContaining("does not exist")
			.satisfies((ex) -> assertThat(ex.action()).contains("dev/idempotency/jdbc/mysql'"));
	}

	@Test
	void partitionsAreRefusedWithASentence() {
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaMigration.migrate(this.pool, this.pool, TABLE, Layout.PARTITIONED))
			.withMessage("MariaDB does not support the layout 'partitioned'.")
			.satisfies((ex) -> assertThat(ex.action())
				.isEqualTo("Set 'idempotency.jdbc.layout' to 'single', or use PostgreSQL."));
	}

	@Test
	void missingPrivilegesAreNamedWithTheirGrants() {
		JdbcSchemaMigration.migrate(this.pool, TABLE);
		JdbcSchemaMigration.migrateOutbox(this.pool, this.pool, OUTBOX);
		String user = Servers.unique("user");
		this.jdbc.execute("CREATE USER " + user + "@localhost");
		this.jdbc.execute("GRANT SELECT, INSERT ON " + TABLE + " TO " + user + "@localhost");
		this.jdbc.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + TABLE + "_offset TO " + user + "@localhost");
		this.jdbc.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON " + OUTBOX + " TO " + user + "@localhost");
		this.jdbc.execute("GRANT SELECT ON " + OUTBOX + "_lane TO " + user + "@localhost");
		try (HikariDataSource limited = Servers.mySqlPool(this.url.replace("user=root", "user=" + user))) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaValidation.validate(limited, TABLE, Layout.SINGLE, false))
				.withMessageContaining("UPDATE, DELETE ON `")
				.satisfies((ex) -> {
					assertThat(ex.action()).startsWith("Run this as an administrator: GRANT UPDATE, DELETE ON");
					// The grants can be run as they are.
					for (String grant : ex.action().substring(ex.action().indexOf("GRANT")).split(";")) {
						this.jdbc.execute(grant);
					}
				});
			JdbcSchemaValidation.validate(limited, TABLE, Layout.SINGLE, true);
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaValidation.validateOutbox(limited, OUTBOX, false, true))
				.withMessageContaining("UPDATE ON `");
			JdbcSchemaValidation.validateOutbox(limited, OUTBOX, true, true);
			assertThat(one(store(limited)).claim(TestDatabase.request(TestDatabase.newKey())))
				.isInstanceOf(Claim.Acquired.class);
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaMigration.migrate(limited, "other"))
				.withMessageContaining("may not create the table 'other'");
			this.jdbc.execute("REVOKE INSERT ON " + TABLE + " FROM " + user + "@localhost");
			assertThatExceptionOfType(IdempotencyStoreRefusedException.class)
				.isThrownBy(() -> one(store(limited)).claim(TestDatabase.request(TestDatabase.newKey())));
			this.jdbc.execute("REVOKE SELECT ON " + OUTBOX + "_lane FROM " + user + "@localhost");
			JdbcOutboxStore relay = new JdbcOutboxStore(limited, new JdbcTransactionManager(limited), OUTBOX,
					Duration.ofSeconds(20), Duration.ofHours(1), false);
			assertThatExceptionOfType(RuntimeException.class).isThrownBy(() -> relay.claim(10, Set.of()))
				.withMessageContaining("The relay lacks a privilege on the outbox");
		}
	}

	@Test
	void storesOfTheSameServerAreDistinguishedByTheirDatabase() {
		try (HikariDataSource same = Servers.mySqlPool(this.url);
				HikariDataSource other = Servers.mySqlPool(Servers.newMariaDb())) {
			assertThat(JdbcSchemaMigration.isSameDatabase(this.pool, same)).isTrue();
			assertThat(JdbcSchemaMigration.isSameDatabase(this.pool, other)).isFalse();
		}
	}

}
