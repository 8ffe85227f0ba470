/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.nio.file.Path;
import java.util.List;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link JdbcSchemaMigration} and {@link JdbcSchemaValidation} on H2.
 */
class H2SchemaTests {

	@TempDir
	private Path directory;

	private HikariDataSource pool(String url) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl("jdbc:h2:" + url);
		return new HikariDataSource(config);
	}

	@ParameterizedTest
	@CsvSource({ "records,''", "ops.records,''", "Ops.Records,''", "ops.records,;MODE=PostgreSQL",
			"Ops.Records,;MODE=PostgreSQL;DATABASE_TO_LOWER=TRUE" })
	void storeWorksOnAMigratedTable(String name, String settings) {
		try (HikariDataSource pool = pool("mem:" + Servers.unique("h2") + settings)) {
			new JdbcTemplate(pool).execute("CREATE SCHEMA ops");
			assertThat(claim(pool, name)).isEqualTo(new Claim.Acquired(1, 1));
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "", ";MODE=PostgreSQL;DATABASE_TO_LOWER=TRUE;DEFAULT_NULL_ORDERING=HIGH",
			";DATABASE_TO_UPPER=FALSE", ";MODE=MySQL", ";MODE=LEGACY" })
	void outboxWorksOnMigratedTables(String settings) {
		try (HikariDataSource pool = pool("mem:" + Servers.unique("h2") + settings)) {
			JdbcSchemaTests.migrateAndUseOutbox(pool);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "Derby", "MSSQLServer", "Oracle", "STRICT" })
	@Tag("promise-12")
	void modeWithoutTheSyntaxOfTheStatementsIsRefused(String mode) {
		try (HikariDataSource pool = pool("mem:" + Servers.unique("h2") + ";MODE=" + mode)) {
			for (ThrowingCallable start : List.<ThrowingCallable>of(() -> claim(pool, "records"),
					() -> JdbcSchemaMigration.migrateOutbox(pool, pool, "outbox"))) {
				assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(start)
					.withMessageContaining("do not support the mode '" + mode + "' of H2");
			}
		}
	}

	@Test
	@Tag("promise-14")
	void statementThatIsRefusedAtStartUpIsNoOutage() {
		try (HikariDataSource pool = pool("mem:" + Servers.unique("h2"))) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> DatabaseInspection.ask(pool,
						(connection) -> SqlStatement.of("SELECT CAST('x' AS INTEGER)")
							.first(connection, Parameters.none(), (row) -> row.getInt(1))))
				.withMessageContaining("refused a statement at start-up: ");
		}
	}

	// H2 checks a constraint that is a list of constants with the session that
	// created it.
	@Test
	void tableIsUsableAfterItsCreatingConnectionIsClosed() {
		String url = "mem:" + Servers.unique("h2") + ";DB_CLOSE_DELAY=-1";
		String table = "records";
		try (HikariDataSource pool = pool(url)) {
			claim(pool, table);
		}
		try (HikariDataSource pool = pool(url)) {
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(pool, table, TestDatabase.TIMEOUT);
			assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey())))
				.isEqualTo(new Claim.Acquired(1, 1));
		}
	}

	@Test
	@Tag("promise-3")
	void recordsInAFileSurviveARestart() {
		IdempotencyKey key = TestDatabase.newKey();
		String table = "records";
		try (HikariDataSource pool = pool("file:" + this.directory.resolve("db"))) {
			claim(pool, table);
			one(new JdbcIdempotencyStore(pool, table, TestDatabase.TIMEOUT)).claim(TestDatabase.request(key));
		}
		try (HikariDataSource pool = pool("file:" + this.directory.resolve("db"))) {
			claim(pool, table);
			assertThat(one(new JdbcIdempotencyStore(pool, table, TestDatabase.TIMEOUT)).find(key)).isPresent();
		}
	}

	@Test
	@Tag("promise-12")
	void missingTableIsInvalid() {
		try (HikariDataSource pool = pool("mem:" + Servers.unique("h2"))) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaValidation.validate(pool, "records", Layout.SINGLE, true));
		}
	}

	@Test
	@Tag("promise-1")
	void tableWithoutItsUniqueIndexIsRefused() {
		try (HikariDataSource pool = pool("mem:" + Servers.unique("h2"))) {
			claim(pool, "records");
			new JdbcTemplate(pool).execute("ALTER TABLE records DROP CONSTRAINT records_pk");
			assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> claim(pool, "records"))
				.withMessageContaining("its column 'id' has no unique index of its own");
		}
	}

	@Test
	@Tag("promise-12")
	void tableOfAnotherProgramIsRefused() {
		try (HikariDataSource pool = pool("mem:" + Servers.unique("h2"))) {
			new JdbcTemplate(pool).execute("CREATE TABLE records (something integer)");
			assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(() -> claim(pool, "records"))
				.withMessageContaining("The table 'records' cannot be used: its column 'id' is missing");
		}
	}

	private static Claim claim(HikariDataSource pool, String table) {
		JdbcSchemaMigration.migrate(pool, table);
		JdbcSchemaValidation.validate(pool, table, Layout.SINGLE, true);
		return one(new JdbcIdempotencyStore(pool, table, TestDatabase.TIMEOUT))
			.claim(TestDatabase.request(TestDatabase.newKey()));
	}

}
