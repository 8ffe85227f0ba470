/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.List;

import com.zaxxer.hikari.HikariDataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.contract.Endings;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Failure;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for the schema of a partitioned table.
 */
class PartitionSchemaTests {

	private static final String TABLE = "records";

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

	private void migrate(Layout layout) {
		JdbcSchemaMigration.migrate(this.pool, this.pool, TABLE, layout);
	}

	private JdbcIdempotencyStore store(String table, Layout layout) {
		return new JdbcIdempotencyStore(this.pool, table, TestDatabase.TIMEOUT, layout, TestDatabase.PARTITION_INTERVAL,
				null);
	}

	@ParameterizedTest
	@ValueSource(strings = { "records", "ops.records", "Ops.Records" })
	void storeWorksOnATableOfAnyName(String name) {
		this.jdbc.execute("CREATE SCHEMA ops");
		String table = name;
		JdbcSchemaMigration.migrate(this.pool, this.pool, table, Layout.PARTITIONED);
		JdbcSchemaValidation.validate(this.pool, table, Layout.PARTITIONED, true);
		JdbcIdempotencyStore store = store(table, Layout.PARTITIONED);
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		assertThat(one(store).claim(request)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(store).complete(request, null)).isEqualTo(Settlement.SETTLED);
		this.jdbc.execute("UPDATE " + name + "_period SET since = since - interval '2 days'");
		store.maintain();
		assertThat(one(store).claim(request)).isEqualTo(new Claim.Completed(null));
		assertThat(this.jdbc.queryForList(
				"SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = ?::regclass " + "ORDER BY 1",
				String.class, name))
			.containsExactly(partition(table, 1), partition(table, 2), partition(table, 3));
	}

	private static String partition(String table, int number) {
		return table.toString().toLowerCase() + "_p" + number;
	}

	// The last column is added while connections are open.
	@Test
	@Tag("promise-15")
	void columnsOfTheApplicationKeepTheirDefaults() {
		migrate(Layout.PARTITIONED);
		this.jdbc.execute("ALTER TABLE records ADD note text NOT NULL DEFAULT 'none', ADD number serial");
		JdbcIdempotencyStore store = store(TABLE, Layout.PARTITIONED);
		useAll(store);
		this.jdbc.execute("ALTER TABLE records ADD tenant integer NOT NULL DEFAULT 7");
		useAll(store);
		this.jdbc.execute("UPDATE records_period SET since = since - interval '2 days'");
		store.maintain();
		useAll(store);
		assertThat(this.jdbc.queryForList("SELECT DISTINCT period FROM records ORDER BY 1", Integer.class))
			.containsExactly(1, 2);
		assertThat(this.jdbc.queryForObject("SELECT count(DISTINCT number) = count(*) AND bool_and(note = 'none') "
				+ "AND bool_and(tenant = 7) FROM records", Boolean.class))
			.isTrue();
	}

	private void useAll(JdbcIdempotencyStore store) {
		ClaimRequest request = TestDatabase.request(TestDatabase.newKey());
		assertThat(one(store).claim(request)).isEqualTo(new Claim.Acquired(1, 1));
		assertThat(one(store).complete(request, new byte[0])).isEqualTo(Settlement.SETTLED);
		ClaimRequest forgotten = TestDatabase.request(TestDatabase.newKey());
		assertThat(store.restore(forgotten, new Claim.Acquired(3, 2))).isEqualTo(Settlement.SETTLED);
		assertThat(one(store).fail(forgotten, new Failure("x", "y"))).isEqualTo(Settlement.SETTLED);
		assertThat(store
			.claim(List.of(TestDatabase.request(forgotten.key()), TestDatabase.request(TestDatabase.newKey()))))
			.containsExactly(new Claim.Acquired(4, 3), new Claim.Acquired(1, 1));
		assertThat(store.settleAfterTransaction(
				Endings.failed(List.of(TestDatabase.request(TestDatabase.newKey())), new Failure("x", "y")), List.of()))
			.containsExactly(Settlement.SETTLED);
		new TransactionTemplate(new JdbcTransactionManager(this.pool)).executeWithoutResult(
				(status) -> assertThat(one(store).insert(TestDatabase.request(TestDatabase.newKey()))).isPresent());
	}

	@Test
	void repeatedMigrationChangesNothing() {
		migrate(Layout.PARTITIONED);
		one(store(TABLE, Layout.PARTITIONED)).claim(TestDatabase.request(TestDatabase.newKey()));
		migrate(Layout.PARTITIONED);
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM records", Long.class)).isOne();
		assertThatNoException()
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED, true));
	}

	// An instance of a later version has already started.
	@ParameterizedTest
	@EnumSource
	void instanceStartsWhenALaterVersionHasMigrated(Layout layout) {
		migrate(layout);
		this.jdbc.update("INSERT INTO records_schema_history SELECT installed_rank + 1, '9', 'later', type, "
				+ "'V9__later.sql', checksum, installed_by, installed_on, execution_time, success "
				+ "FROM records_schema_history ORDER BY installed_rank DESC LIMIT 1");
		assertThatNoException().isThrownBy(() -> migrate(layout));
	}

	@ParameterizedTest
	@EnumSource
	@Tag("promise-12")
	void tableOfAnotherLayoutIsRefused(Layout layout) {
		migrate(layout);
		Layout other = (layout == Layout.SINGLE) ? Layout.PARTITIONED : Layout.SINGLE;
		List<ThrowingCallable> checks = List.of(() -> migrate(other),
				() -> JdbcSchemaValidation.validate(this.pool, TABLE, other, true));
		assertThat(checks)
			.allSatisfy((check) -> assertThatExceptionOfType(IdempotencyConfigurationException.class).isThrownBy(check)
				.withMessageContaining("'records' is " + ((layout == Layout.SINGLE) ? "not" : "partitioned"))
				.satisfies((ex) -> assertThat(ex.action()).contains("'migrate-from'")));
	}

	@Test
	@Tag("promise-12")
	void missingFunctionIsReported() {
		migrate(Layout.PARTITIONED);
		this.jdbc.execute("DROP FUNCTION records_drop_dead");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED, true))
			.withMessageContaining("lacks the functions records_drop_dead.");
	}

	@ParameterizedTest
	@ValueSource(strings = { "records_p2 DROP CONSTRAINT records_p2_pkey",
			"records_period DROP CONSTRAINT records_period_pkey", "records_offset DROP CONSTRAINT records_offset_pk" })
	@Tag("promise-1")
	void tableWithoutItsUniqueIndexIsRefused(String change) {
		migrate(Layout.PARTITIONED);
		this.jdbc.execute("ALTER TABLE " + change);
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, TABLE, Layout.PARTITIONED, false))
			.withMessageContaining("has no unique index of its own");
	}

	@ParameterizedTest
	@ValueSource(strings = { "app", "\"App 1\"" })
	@Tag("promise-12")
	void functionsThatUseAnotherSchemaAreRefused(String schema) {
		this.jdbc.execute("CREATE SCHEMA " + schema);
		String url = this.pool.getJdbcUrl() + "?currentSchema=" + schema.replace("\"", "%22").replace(" ", "%20");
		try (HikariDataSource inSchema = Servers.pool(url)) {
			JdbcSchemaMigration.migrate(inSchema, inSchema, TABLE, Layout.PARTITIONED);
			assertThatNoException()
				.isThrownBy(() -> JdbcSchemaValidation.validate(inSchema, TABLE, Layout.PARTITIONED, true));
		}
		this.jdbc.execute("ALTER SCHEMA " + schema + " RENAME TO renamed");
		assertThatExceptionOfType(IdempotencyConfigurationException.class)
			.isThrownBy(() -> JdbcSchemaValidation.validate(this.pool, "renamed." + TABLE, Layout.PARTITIONED, true))
			.withMessage(
					"The idempotency table 'records' is in the schema 'renamed', but its functions use the schema '"
							+ schema.replace("\"", "") + "'.");
	}

	@Test
	@Tag("promise-12")
	void partitionedLayoutIsRefusedOnH2() {
		HikariDataSource h2 = new HikariDataSource();
		h2.setJdbcUrl("jdbc:h2:mem:" + Servers.unique("partitions"));
		try (h2) {
			assertThatExceptionOfType(IdempotencyConfigurationException.class)
				.isThrownBy(() -> JdbcSchemaMigration.migrate(h2, h2, TABLE, Layout.PARTITIONED))
				.withMessageContaining("H2 does not support the layout");
		}
	}

}
