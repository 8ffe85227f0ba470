/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.util.List;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.core.JdbcTemplate;

import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the schema of {@link IdempotencyJdbcAutoConfiguration}.
 */
class IdempotencyJdbcAutoConfigurationTests {

	private String database;

	private JdbcTemplate jdbc;

	private ApplicationContextRunner runner;

	@BeforeEach
	void createDatabase() {
		this.database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(this.database);
		this.runner = with(Contexts.all());
	}

	private ApplicationContextRunner with(ApplicationContextRunner given) {
		return given.withPropertyValues("spring.datasource.url=" + this.database);
	}

	@Test
	void schemaIsMigratedOnceByDefault() {
		start(this.runner);
		assertThat(tables("public")).contains("idempotency_record", "idempotency_record_schema_history");
		start(this.runner);
		assertThat(history("idempotency_record_schema_history")).containsExactly("1");
		start(this.runner.withPropertyValues("idempotency.jdbc.schema=validate"));
	}

	@Test
	@Tag("promise-13")
	void migrationsOfTheApplicationRunFirstWithTheirOwnHistory() {
		start(this.runner.withUserConfiguration(NeedsStore.class)
			.withPropertyValues("spring.flyway.enabled=true", "spring.flyway.locations=classpath:users/migrations"));
		assertThat(history("flyway_schema_history")).containsExactly("1");
		assertThat(tables("public")).containsExactlyInAnyOrder("flyway_schema_history", "users_table",
				"idempotency_record", "idempotency_record_offset", "idempotency_record_schema_history");
	}

	@Test
	void tableIsInTheConfiguredSchema() {
		this.jdbc.execute("CREATE SCHEMA billing");
		start(this.runner.withPropertyValues("idempotency.jdbc.table=billing.dedup"));
		assertThat(tables("billing")).containsExactlyInAnyOrder("dedup", "dedup_offset", "dedup_schema_history");
		assertThat(tables("public")).isEmpty();
	}

	@Test
	void twoApplicationsCanShareADatabase() {
		start(this.runner.withPropertyValues("idempotency.jdbc.table=one"));
		start(this.runner.withPropertyValues("idempotency.jdbc.table=two"));
		assertThat(tables("public")).containsExactlyInAnyOrder("one", "one_offset", "one_schema_history", "two",
				"two_offset", "two_schema_history");
	}

	@Test
	void tableIsPartitionedWhenTheLayoutIsPartitioned() {
		start(this.runner.withPropertyValues("idempotency.jdbc.layout=partitioned",
				"idempotency.jdbc.partition-interval=6h"));
		assertThat(history("idempotency_record_schema_history")).containsExactly("1");
		start(this.runner.withPropertyValues("idempotency.jdbc.layout=partitioned",
				"idempotency.jdbc.schema=validate"));
		assertThat(Contexts.failure(this.runner).getDescription())
			.isEqualTo("'idempotency.jdbc.layout' is 'single', but the idempotency table 'idempotency_record' is "
					+ "partitioned.");
	}

	@Test
	@Tag("promise-12")
	void partitionIntervalOfZeroIsRefused() {
		assertThat(Contexts
			.failure(this.runner.withPropertyValues("idempotency.jdbc.layout=partitioned",
					"idempotency.jdbc.partition-interval=0s"))
			.getAction()).contains("Set 'idempotency.jdbc.partition-interval'");
	}

	@Test
	@Tag("promise-12")
	void missingColumnIsRefusedByValidationOnly() {
		start(this.runner);
		this.jdbc.execute("ALTER TABLE idempotency_record DROP COLUMN fence");
		assertThat(
				Contexts.failure(this.runner.withPropertyValues("idempotency.jdbc.schema=validate")).getDescription())
			.contains("fence");
		start(withoutFlyway().withPropertyValues("idempotency.jdbc.schema=none"));
	}

	@Test
	@Tag("promise-12")
	void migrationWithoutFlywayIsRefused() {
		FailureAnalysis analysis = Contexts.failure(withoutFlyway());
		assertThat(analysis.getDescription())
			.isEqualTo("'idempotency.jdbc.schema' is 'migrate', but Flyway is not on the class path.");
		assertThat(analysis.getAction()).contains("Add 'flyway-core'", "'dev/idempotency/jdbc/liquibase'");
	}

	private ApplicationContextRunner withoutFlyway() {
		return with(Contexts.without(FlywayAutoConfiguration.class))
			.withClassLoader(new FilteredClassLoader("org.flywaydb"));
	}

	@Test
	@Tag("promise-11")
	void connectionsWithoutANetworkTimeoutAreWarnedOf() {
		try (Logs logs = Logs.ofThisThread()) {
			start(this.runner);
			assertThat(logs.messages("WARN")).filteredOn((message) -> message.contains("have no network timeout"))
				.singleElement()
				.asString()
				.contains("store 'default'", "Add 'socketTimeout' to the JDBC URL");
		}
		try (Logs logs = Logs.ofThisThread()) {
			start(this.runner.withPropertyValues("spring.datasource.hikari.data-source-properties.socketTimeout=60"));
			assertThat(logs.messages("WARN")).noneMatch((message) -> message.contains("network timeout"));
		}
	}

	private static void start(ApplicationContextRunner runner) {
		runner.run((context) -> assertThat(context).hasSingleBean(JdbcIdempotencyStore.class));
	}

	private List<String> tables(String schema) {
		return this.jdbc.queryForList("SELECT table_name FROM information_schema.tables WHERE table_schema = ?",
				String.class, schema);
	}

	private List<String> history(String table) {
		return this.jdbc.queryForList("SELECT version FROM " + table, String.class);
	}

	/**
	 * Injects the store before any other bean is created.
	 */
	static class NeedsStore {

		NeedsStore(IdempotencyStore store) {
		}

	}

}
