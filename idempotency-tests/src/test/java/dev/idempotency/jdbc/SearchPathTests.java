/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Locale;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link JdbcIdempotencyStore} when the search path of a connection depends on
 * the tenant.
 */
@Tag("promise-3")
class SearchPathTests {

	private static HikariDataSource pool;

	private final Tenants dataSource = new Tenants(pool);

	private final IdempotencyKey key = TestDatabase.newKey();

	@BeforeAll
	static void create() {
		pool = Servers.pool(Servers.newDatabase());
	}

	@AfterAll
	static void close() {
		pool.close();
	}

	// Each tenant has a schema with a table of the same name.
	private JdbcIdempotencyStore store(Layout layout) {
		String table = "records_" + layout.name().toLowerCase(Locale.ROOT);
		for (String tenant : List.of("Tenant-b", "tenant_a")) {
			new JdbcTemplate(pool).execute("CREATE SCHEMA IF NOT EXISTS \"" + tenant + "\"");
			this.dataSource.tenant = tenant;
			JdbcSchemaMigration.migrate(this.dataSource, this.dataSource, table, layout);
			JdbcSchemaValidation.validate(this.dataSource, table, layout, true);
		}
		return new JdbcIdempotencyStore(this.dataSource, table, TestDatabase.TIMEOUT, layout,
				TestDatabase.PARTITION_INTERVAL, null);
	}

	@ParameterizedTest
	@EnumSource
	void keyIsInOneTableUnderEverySearchPath(Layout layout) {
		JdbcIdempotencyStore store = store(layout);
		ClaimRequest owner = TestDatabase.request(this.key);
		assertThat(one(store).claim(owner)).isInstanceOf(Claim.Acquired.class);
		this.dataSource.tenant = "Tenant-b";
		assertThat(one(store).renew(owner)).isEqualTo(Settlement.SETTLED);
		assertThat(store.claim(List.of(TestDatabase.request(this.key)))).singleElement()
			.isInstanceOf(Claim.InProgress.class);
		assertThat(one(store).complete(owner, null)).isEqualTo(Settlement.SETTLED);
		assertThat(inTransaction(store)).isInstanceOf(Claim.Completed.class);
		assertThat(one(store).find(this.key)).isPresent();
		assertThat(store.records().orElseThrow().overview().scopes()).isNotEmpty();
		this.dataSource.tenant = "tenant_a";
		assertThat(one(store).claim(TestDatabase.request(this.key))).isInstanceOf(Claim.Completed.class);
	}

	private Claim inTransaction(JdbcIdempotencyStore store) {
		return new TransactionTemplate(new JdbcTransactionManager(this.dataSource))
			.execute((status) -> store.claimInTransaction(List.of(TestDatabase.request(this.key)), true).get(0));
	}

	@Test
	void schemaWithAnUnusualNameIsSupported() {
		store(Layout.PARTITIONED);
		this.dataSource.tenant = "Tenant-b";
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.dataSource, "records_partitioned",
				TestDatabase.TIMEOUT, Layout.PARTITIONED, Duration.ofMillis(10), null);
		this.dataSource.tenant = "tenant_a";
		assertThat(one(store).claim(TestDatabase.request(this.key))).isInstanceOf(Claim.Acquired.class);
		store.maintain();
		assertThat(new JdbcTemplate(pool).queryForObject(
				"SELECT count(*) FROM \"Tenant-b\".records_partitioned WHERE id = ?", Integer.class, this.key.id()))
			.isOne();
	}

	@Test
	void schemaWithAColonInItsNameIsSupported() {
		new JdbcTemplate(pool).execute("CREATE SCHEMA \"tenant:c\"");
		this.dataSource.tenant = "tenant:c";
		String table = "records";
		JdbcSchemaMigration.migrate(this.dataSource, table);
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.dataSource, table, TestDatabase.TIMEOUT);
		ClaimRequest owner = TestDatabase.request(this.key);
		assertThat(one(store).claim(owner)).isInstanceOf(Claim.Acquired.class);
		assertThat(one(store).complete(owner, null)).isEqualTo(Settlement.SETTLED);
	}

	@Test
	void existingTableIsFoundInTheSearchPath() {
		JdbcTemplate jdbc = new JdbcTemplate(pool);
		this.dataSource.tenant = "public";
		JdbcSchemaMigration.migrate(this.dataSource, "shared");
		jdbc.execute("CREATE SCHEMA IF NOT EXISTS tenant_a");
		this.dataSource.tenant = "tenant_a";
		JdbcIdempotencyStore store = new JdbcIdempotencyStore(this.dataSource, "shared", TestDatabase.TIMEOUT);
		assertThat(one(store).claim(TestDatabase.request(this.key))).isInstanceOf(Claim.Acquired.class);
		assertThat(jdbc.queryForObject("SELECT count(*) FROM public.shared", Integer.class)).isOne();
	}

	@ParameterizedTest
	@EnumSource
	void migrationUsesTheTableThatTheDatabaseFinds(Layout layout) {
		String table = "found_" + layout.name().toLowerCase(Locale.ROOT);
		this.dataSource.tenant = "public";
		JdbcSchemaMigration.migrate(this.dataSource, this.dataSource, table, layout);
		JdbcIdempotencyStore before = new JdbcIdempotencyStore(this.dataSource, table, TestDatabase.TIMEOUT, layout,
				TestDatabase.PARTITION_INTERVAL, null);
		ClaimRequest owner = TestDatabase.request(this.key);
		one(before).claim(owner);
		one(before).complete(owner, null);
		// Another schema precedes that of the table, like a "$user" schema
		// created later.
		new JdbcTemplate(pool).execute("CREATE SCHEMA IF NOT EXISTS tenant_a");
		this.dataSource.tenant = "tenant_a";
		JdbcSchemaMigration.migrate(this.dataSource, this.dataSource, table, layout);
		JdbcIdempotencyStore after = new JdbcIdempotencyStore(this.dataSource, table, TestDatabase.TIMEOUT, layout,
				TestDatabase.PARTITION_INTERVAL, null);
		assertThat(one(after).claim(TestDatabase.request(this.key))).isInstanceOf(Claim.Completed.class);
		assertThat(new JdbcTemplate(pool).queryForObject("SELECT to_regclass(?)", String.class, "tenant_a." + table))
			.isNull();
	}

	@Test
	void migrationUsesTheOutboxThatTheDatabaseFinds() {
		String table = "found_outbox";
		this.dataSource.tenant = "public";
		JdbcSchemaMigration.migrateOutbox(this.dataSource, this.dataSource, table);
		new JdbcTemplate(pool).execute("CREATE SCHEMA IF NOT EXISTS tenant_a");
		this.dataSource.tenant = "tenant_a";
		JdbcSchemaMigration.migrateOutbox(this.dataSource, this.dataSource, table);
		assertThat(new JdbcTemplate(pool).queryForObject("SELECT to_regclass('tenant_a.found_outbox')", String.class))
			.isNull();
	}

	private static final class Tenants extends DelegatingDataSource {

		@Nullable String tenant;

		Tenants(DataSource target) {
			super(target);
		}

		@Override
		public Connection getConnection() throws SQLException {
			Connection connection = super.getConnection();
			try (Statement statement = connection.createStatement()) {
				statement.execute("SET search_path = \"" + this.tenant + "\", public");
			}
			return connection;
		}

	}

}
