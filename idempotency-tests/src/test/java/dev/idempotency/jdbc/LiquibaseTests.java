/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import liquibase.Contexts;
import liquibase.Liquibase;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.exception.LiquibaseException;
import liquibase.resource.ClassLoaderResourceAccessor;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.core.io.ClassPathResource;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.PathMatchingResourcePatternResolver;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import dev.idempotency.store.Claim;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for the change logs of Liquibase.
 */
@Tag("promise-12")
class LiquibaseTests {

	// Includes the change logs of the library, as that of an application does.
	private static final String CHANGE_LOG = "db/changelog/db.changelog-master.yaml";

	private static final String FOLDER = "dev/idempotency/jdbc/liquibase/";

	private static final String PARTITIONED = FOLDER + "records-partitioned.yaml";

	private static final String TABLE = TestDatabase.TABLE;

	private static final String OUTBOX = "idempotency_outbox";

	@BeforeAll
	static void sendNoUsageData() {
		System.setProperty("liquibase.analytics.enabled", "false");
	}

	@Test
	void storeAndOutboxAcceptTheTablesOnPostgres() throws Exception {
		try (HikariDataSource pool = Servers.pool(Servers.newDatabase())) {
			assertAccepted(pool, Map.of(), TABLE, OUTBOX);
		}
	}

	@Test
	void storeAcceptsAPartitionedTable() throws Exception {
		try (HikariDataSource pool = Servers.pool(Servers.newDatabase())) {
			try (Connection connection = pool.getConnection()) {
				update(database(connection), PARTITIONED, Map.of());
			}
			JdbcSchemaValidation.validate(pool, TABLE, Layout.PARTITIONED, true);
		}
	}

	@Test
	void storeAndOutboxAcceptTheTablesOnMariaDb() throws Exception {
		try (HikariDataSource pool = Servers.mySqlPool(Servers.newMariaDb())) {
			assertAccepted(pool, Map.of(), TABLE, OUTBOX);
		}
	}

	@Test
	void storeAndOutboxAcceptTheTablesOnH2() throws Exception {
		assertAccepted(h2(), Map.of(), TABLE, OUTBOX);
	}

	@Test
	void parametersGiveTheTablesOtherNames() throws Exception {
		assertAccepted(h2(), Map.of("idempotency.jdbc.table", "seen", "idempotency.outbox.table", "sent"), "seen",
				"sent");
	}

	@Test
	void updateFailsWhenAParameterOfTheApplicationHasTheNameOfAPlaceholder() {
		assertThatExceptionOfType(LiquibaseException.class)
			.isThrownBy(() -> assertAccepted(h2(), Map.of("table", "payment"), TABLE, OUTBOX))
			.withMessageContaining("Rename the parameters 'table' and 'name'");
	}

	@Test
	void tablesAreCreatedInTheDefaultSchemaOfLiquibase() throws Exception {
		try (HikariDataSource pool = Servers.pool(Servers.newDatabase())) {
			new JdbcTemplate(pool).execute("CREATE SCHEMA billing");
			try (Connection connection = pool.getConnection()) {
				Database database = database(connection);
				database.setDefaultSchemaName("billing");
				update(database, CHANGE_LOG, Map.of());
			}
			assertStore(pool, "billing." + TABLE);
		}
	}

	@Test
	void tablesThatFlywayHasCreatedAreKept() throws Exception {
		DataSource dataSource = h2();
		JdbcSchemaMigration.migrate(dataSource, TABLE);
		JdbcSchemaMigration.migrateOutbox(dataSource, dataSource, OUTBOX);
		assertStore(dataSource, TABLE);
		assertAccepted(dataSource, Map.of(), TABLE, OUTBOX);
	}

	@Test
	void pageContainsTheChangeLogThatThisTestRuns() throws IOException {
		assertThat(Files.readString(Path.of("../docs/stores.md")))
			.contains("```yaml\n" + text(new ClassPathResource(CHANGE_LOG)) + "```");
	}

	@Test
	void changeLogsContainEveryMigration() throws IOException {
		PathMatchingResourcePatternResolver resources = new PathMatchingResourcePatternResolver();
		String changeLogs = text(resources.getResource(FOLDER + "records.yaml"))
				+ text(resources.getResource(FOLDER + "outbox.yaml")) + text(resources.getResource(PARTITIONED));
		List<String> scripts = Stream.of(resources.getResources("classpath*:dev/idempotency/jdbc/*/V*.sql"))
			.map((script) -> script.getDescription().replaceAll(".*/jdbc/([^/]+/V[^/\\]]+\\.sql).*", "../$1"))
			.distinct()
			.toList();
		assertThat(scripts).hasSizeGreaterThan(6).allSatisfy((script) -> assertThat(changeLogs).contains(script));
	}

	private static String text(Resource resource) throws IOException {
		return resource.getContentAsString(StandardCharsets.UTF_8);
	}

	private static DataSource h2() {
		return new DriverManagerDataSource("jdbc:h2:mem:" + Servers.unique("liquibase") + ";DB_CLOSE_DELAY=-1");
	}

	// The second update changes nothing.
	private static void assertAccepted(DataSource dataSource, Map<String, String> parameters, String table,
			String outbox) throws Exception {
		for (int i = 0; i < 2; i++) {
			try (Connection connection = dataSource.getConnection()) {
				update(database(connection), CHANGE_LOG, parameters);
			}
		}
		JdbcSchemaValidation.validate(dataSource, table, Layout.SINGLE, true);
		JdbcSchemaValidation.validateOutbox(dataSource, outbox, false, true);
		assertStore(dataSource, table);
	}

	private static void assertStore(DataSource dataSource, String table) {
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(dataSource, table, TestDatabase.TIMEOUT);
		assertThat(one(store).claim(TestDatabase.request(TestDatabase.newKey()))).isEqualTo(new Claim.Acquired(1, 1));
	}

	private static Database database(Connection connection) throws Exception {
		return DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
	}

	private static void update(Database database, String changeLog, Map<String, String> parameters) throws Exception {
		Liquibase liquibase = new Liquibase(changeLog, new ClassLoaderResourceAccessor(), database);
		parameters.forEach(liquibase::setChangeLogParameter);
		liquibase.update(new Contexts());
	}

}
