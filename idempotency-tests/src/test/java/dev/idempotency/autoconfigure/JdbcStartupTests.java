/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;

import javax.sql.DataSource;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.diagnostics.FailureAnalysis;
import org.springframework.boot.flyway.autoconfigure.FlywayDataSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.JdbcSchemaMigration;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.IdempotencyStore;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;
import dev.idempotency.testsupport.TextCodec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for the requirements of the JDBC store and the outbox, which are checked at
 * start-up.
 */
@Tag("promise-12")
@Tag("promise-14")
@Order(3)
class JdbcStartupTests {

	private static final String RESTORE = "idempotency_record_restore(text, uuid, text, text, integer, integer, uuid, "
			+ "bytea, bigint, bigint, bigint)";

	private static final String LOGIN = Servers.unique("login");

	private static final String TABLE = "idempotency_record";

	private static final String OUTBOX = "idempotency_outbox";

	private static final String TABLE_ACTION = "Set 'idempotency.jdbc.schema' to 'migrate', or run the scripts in "
			+ "'dev/idempotency/jdbc/postgresql' yourself.";

	private String database;

	private JdbcTemplate jdbc;

	private ApplicationContextRunner runner;

	@BeforeAll
	static void createLogin() {
		Servers.jdbc(Servers.postgres().url("postgres"))
			.execute("CREATE ROLE " + LOGIN + " LOGIN PASSWORD '" + LOGIN + "'");
	}

	@BeforeEach
	void createDatabase() {
		this.database = Servers.newDatabase();
		this.jdbc = Servers.jdbc(this.database);
		// The default since PostgreSQL 15.
		this.jdbc.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
		this.runner = Contexts.all().withPropertyValues("spring.datasource.url=" + this.database);
	}

	private DataSource owner() {
		return new DriverManagerDataSource(this.database, Servers.postgres().username(), Servers.postgres().password());
	}

	private ApplicationContextRunner login(String... properties) {
		return this.runner
			.withPropertyValues("spring.datasource.username=" + LOGIN, "spring.datasource.password=" + LOGIN)
			.withPropertyValues(properties);
	}

	private static void assertRefused(ApplicationContextRunner runner, String description, String action) {
		FailureAnalysis analysis = Contexts.failure(runner);
		assertThat(analysis.getDescription()).isEqualTo(description);
		assertThat(analysis.getAction()).isEqualTo(action);
	}

	private static void assertStarts(ApplicationContextRunner runner) {
		runner.run((context) -> assertThat(context).hasNotFailed());
	}

	@ParameterizedTest
	@ValueSource(strings = { "migrate", "validate", "none" })
	void tableIsRefusedWhenThePrivilegesAreIncomplete(String schema) {
		JdbcSchemaMigration.migrate(owner(), TABLE);
		this.jdbc.execute("GRANT SELECT, INSERT ON idempotency_record TO " + LOGIN);
		this.jdbc.execute("GRANT ALL ON idempotency_record_offset TO " + LOGIN);
		this.jdbc.execute("GRANT SELECT ON idempotency_record_schema_history TO " + LOGIN);
		assertRefused(login("idempotency.jdbc.schema=" + schema),
				"The database user '" + LOGIN + "' lacks privileges that the idempotency store or the outbox needs: "
						+ "UPDATE, DELETE on public.idempotency_record.",
				"Run this as the owner of the table: GRANT UPDATE, DELETE ON public.idempotency_record TO " + LOGIN
						+ ";");
		if (schema.equals("migrate")) {
			this.jdbc.execute("GRANT UPDATE, DELETE ON idempotency_record TO " + LOGIN);
			assertStarts(login());
		}
	}

	@Test
	void privilegesOnColumnsAreSufficient() {
		JdbcSchemaMigration.migrate(owner(), TABLE);
		this.jdbc
			.execute("GRANT SELECT, INSERT, DELETE, UPDATE (state, fence, attempt, token, fingerprint, lease_until, "
					+ "created_at, expires_at, result, error_type, error_message, completed_at, version, "
					+ "decided_version) ON idempotency_record TO " + LOGIN);
		this.jdbc.execute("GRANT ALL ON idempotency_record_offset TO " + LOGIN);
		login("idempotency.jdbc.schema=validate").run((context) -> {
			assertThat(context).hasNotFailed();
			assertThat(context.getBean(IdempotencyTemplate.class)
				.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), new TextCodec(), () -> "done")
				.result()).isEqualTo("done");
		});
	}

	@Test
	void outboxIsRefusedWhenThePrivilegesAreIncomplete() {
		JdbcSchemaMigration.migrate(owner(), TABLE);
		JdbcSchemaMigration.migrateOutbox(owner(), owner(), OUTBOX);
		this.jdbc.execute("GRANT ALL ON idempotency_record, idempotency_record_offset TO " + LOGIN);
		this.jdbc.execute("GRANT SELECT, INSERT, UPDATE ON idempotency_outbox TO " + LOGIN);
		this.jdbc.execute("GRANT SELECT ON idempotency_outbox_lane TO " + LOGIN);
		assertRefused(login("idempotency.jdbc.schema=none", "idempotency.outbox.enabled=true"),
				"The database user '" + LOGIN + "' lacks privileges that the idempotency store or the outbox needs: "
						+ "DELETE on public.idempotency_outbox; UPDATE on public.idempotency_outbox_lane.",
				"Run this as the owner of the table: GRANT DELETE ON public.idempotency_outbox TO " + LOGIN
						+ "; GRANT UPDATE ON public.idempotency_outbox_lane TO " + LOGIN + ";");
	}

	@Test
	void partitionedTableIsRefusedWhenThePrivilegesAreIncomplete() {
		JdbcSchemaMigration.migrate(owner(), owner(), TABLE, Layout.PARTITIONED);
		this.jdbc.execute("GRANT ALL ON idempotency_record, idempotency_record_offset TO " + LOGIN);
		this.jdbc.execute("REVOKE EXECUTE ON FUNCTION " + RESTORE + " FROM PUBLIC");
		ApplicationContextRunner partitioned = login("idempotency.jdbc.schema=validate",
				"idempotency.jdbc.layout=partitioned");
		String user = "The database user '" + LOGIN
				+ "' lacks privileges that the idempotency store or the outbox needs: ";
		assertRefused(partitioned,
				user + "SELECT on public.idempotency_record_period; " + "EXECUTE on FUNCTION public." + RESTORE + ".",
				"Run this as the owner of the table: GRANT SELECT ON public.idempotency_record_period TO " + LOGIN
						+ "; GRANT EXECUTE ON FUNCTION public." + RESTORE + " TO " + LOGIN + ";");
		this.jdbc.execute("GRANT SELECT ON idempotency_record_period TO " + LOGIN);
		this.jdbc.execute("GRANT EXECUTE ON FUNCTION " + RESTORE + " TO " + LOGIN);
		assertStarts(partitioned);
	}

	@Test
	void cleanupIsRefusedWhenTheUserCannotMaintainPartitions() {
		String owner = Servers.postgres().username();
		JdbcSchemaMigration.migrate(owner(), owner(), TABLE, Layout.PARTITIONED);
		this.jdbc.execute(
				"GRANT ALL ON idempotency_record, idempotency_record_period, idempotency_record_offset TO " + LOGIN);
		ApplicationContextRunner partitioned = login("idempotency.jdbc.schema=validate",
				"idempotency.jdbc.layout=partitioned", "idempotency.cleanup.enabled=true");
		FailureAnalysis analysis = Contexts.failure(partitioned);
		assertThat(analysis.getDescription()).isEqualTo("The database user '" + LOGIN
				+ "' cannot create and drop partitions of 'idempotency_record': it lacks CREATE on SCHEMA public; "
				+ "the role " + owner + ", which owns the table.");
		assertThat(analysis.getAction())
			.isEqualTo("Run this as the owner of the table: GRANT CREATE ON SCHEMA public TO " + LOGIN + "; GRANT "
					+ owner + " TO " + LOGIN + "; Or set 'idempotency.cleanup.enabled' to 'false' here, "
					+ "and let an instance with the owner's user clean up.");
	}

	@ParameterizedTest
	@CsvSource({ "validate,''", "none,''", "none,outbox" })
	void missingTableIsRefused(String schema, String outbox) {
		boolean isOutbox = !outbox.isEmpty();
		if (isOutbox) {
			JdbcSchemaMigration.migrate(owner(), TABLE);
		}
		assertRefused(
				this.runner.withPropertyValues("idempotency.jdbc.schema=" + schema,
						"idempotency.outbox.enabled=" + isOutbox),
				"The table '" + (isOutbox ? OUTBOX : TABLE) + "' cannot be used: it does not exist.",
				isOutbox ? TABLE_ACTION.replace("postgresql", "postgresql-outbox") : TABLE_ACTION);
	}

	@Test
	void migrationIsRefusedWhenTheUserCannotCreateTables() {
		long start = System.nanoTime();
		assertRefused(login(),
				"The database user '" + LOGIN
						+ "' may not create the table 'idempotency_record' in the schema 'public'.",
				"Run GRANT USAGE, CREATE ON SCHEMA public TO " + LOGIN
						+ "; or migrate with another user, whose DataSource "
						+ "bean is annotated with @FlywayDataSource; or let the owner of the schema run the scripts in "
						+ "'dev/idempotency/jdbc/postgresql', and set 'idempotency.jdbc.schema' to 'validate'.");
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(8));
	}

	@Test
	void migrationIsRefusedWhenThePoolHasOneConnection() {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues(
				"spring.datasource.hikari.maximum-pool-size=1", "spring.datasource.hikari.connection-timeout=1500"));
		assertThat(analysis.getDescription()).contains("'idempotency_record' could not be migrated",
				"Connection is not available");
		assertThat(analysis.getAction()).contains("'spring.datasource.hikari.maximum-pool-size'")
			.doesNotContain("right", "module");
	}

	@Test
	void missingSchemaIsRefused() {
		FailureAnalysis analysis = Contexts
			.failure(this.runner.withPropertyValues("idempotency.jdbc.table=billing.dedup"));
		assertThat(analysis.getDescription())
			.isEqualTo("The schema 'billing' of the table 'billing.dedup' does not exist.");
		assertThat(analysis.getAction()).startsWith("Create it with CREATE SCHEMA billing");
	}

	@Test
	void migrationRunsWithTheUserOfTheFlywayDataSource() {
		this.jdbc.execute(
				"ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO " + LOGIN);
		assertStarts(login().withUserConfiguration(Migrating.class));
		assertThat(this.jdbc.queryForObject("SELECT tableowner FROM pg_tables WHERE tablename = 'idempotency_record'",
				String.class))
			.isEqualTo(Servers.postgres().username());
	}

	@Test
	void migrationIsRefusedWhenItsUserCannotReadTheHistory() {
		String migrator = Servers.unique("migrator");
		this.jdbc.execute("CREATE ROLE " + migrator + " LOGIN PASSWORD '" + migrator + "'");
		this.jdbc.execute("GRANT CREATE ON SCHEMA public TO " + migrator + ", " + LOGIN);
		DriverManagerDataSource user = new DriverManagerDataSource(this.database, LOGIN, LOGIN);
		JdbcSchemaMigration.migrate(user, TABLE);
		ApplicationContextRunner migrating = login("migrating.user=" + migrator).withUserConfiguration(Migrating.class);
		assertRefused(migrating,
				"The database user '" + migrator
						+ "' may not migrate the table 'idempotency_record': it cannot read its "
						+ "history 'idempotency_record_schema_history'.",
				"Migrate with another user, whose DataSource bean is annotated with @FlywayDataSource; or let the owner of "
						+ "the schema run the scripts in 'dev/idempotency/jdbc/postgresql', and set "
						+ "'idempotency.jdbc.schema' to 'validate'.");
		this.jdbc.execute("ALTER TABLE idempotency_record_schema_history OWNER TO " + migrator);
		assertStarts(migrating);
	}

	@Test
	void sendingInstanceNeedsOnlyThePrivilegesToSend() {
		JdbcSchemaMigration.migrate(owner(), TABLE);
		JdbcSchemaMigration.migrateOutbox(owner(), owner(), OUTBOX);
		this.jdbc.execute("GRANT ALL ON idempotency_record, idempotency_record_offset TO " + LOGIN);
		this.jdbc.execute("GRANT SELECT, INSERT ON idempotency_outbox TO " + LOGIN);
		this.jdbc.execute("GRANT SELECT ON idempotency_outbox_lane TO " + LOGIN);
		for (String schema : List.of("validate", "none")) {
			assertStarts(login("idempotency.jdbc.schema=" + schema, "idempotency.outbox.enabled=true",
					"idempotency.outbox.relay=none", "idempotency.cleanup.enabled=false"));
		}
	}

	@Test
	void flywayDataSourceOfAnUnknownDatabaseIsNotUsed() {
		assertStarts(this.runner.withUserConfiguration(MigratingAnother.class));
	}

	@Test
	void flywayDataSourceOfAnotherDatabaseIsNotUsed() {
		String other = Servers.newDatabase();
		assertStarts(this.runner.withUserConfiguration(Migrating.class).withPropertyValues("migrating.url=" + other));
		assertThat(this.jdbc.queryForObject("SELECT count(*) FROM idempotency_record", Long.class)).isZero();
		assertThat(Servers.jdbc(other)
			.queryForList("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", String.class)).isEmpty();
	}

	@Test
	void missingDataSourceIsRefused() {
		assertRefused(this.runner.withPropertyValues("idempotency.jdbc.data-source=ledger"),
				"'idempotency.jdbc.data-source' is 'ledger', but there is no DataSource bean with this name.",
				"Set 'idempotency.jdbc.data-source' to one of these beans: [dataSource].");
	}

	@Test
	void missingTransactionManagerIsRefused() {
		assertRefused(this.runner.withPropertyValues("idempotency.jdbc.transaction-manager=ledger"),
				"'idempotency.jdbc.transaction-manager' is 'ledger', but there is no PlatformTransactionManager bean with "
						+ "this name.",
				"Set 'idempotency.jdbc.transaction-manager' to one of these beans: [transactionManager].");
	}

	@ParameterizedTest
	@ValueSource(strings = { "migrate", "validate", "none" })
	void unavailableDatabaseIsReported(String schema) {
		FailureAnalysis analysis = Contexts.failure(this.runner.withPropertyValues(
				"spring.datasource.url=jdbc:postgresql://localhost:1/app", "idempotency.jdbc.schema=" + schema));
		assertThat(analysis.getDescription())
			.startsWith("The database of the idempotency store or the outbox is unavailable at start-up: ")
			.contains("localhost:1 refused");
		assertThat(analysis.getAction())
			.isEqualTo("Start the database, or correct the URL, the user and the password of its DataSource "
					+ "('spring.datasource.*').");
	}

	@Test
	void repeatableReadIsRefusedForATransactionalListenerWithPartitions() {
		ApplicationContextRunner repeatable = this.runner.withPropertyValues("idempotency.jdbc.layout=partitioned",
				"spring.datasource.hikari.transaction-isolation=TRANSACTION_REPEATABLE_READ");
		assertRefused(repeatable.withUserConfiguration(AutoListener.class),
				"The idempotent listener JdbcStartupTests.AutoListener.listen is transactional, but its transactions are "
						+ "REPEATABLE READ and the partitioned table 'idempotency_record' accepts claims in READ COMMITTED "
						+ "only.",
				"Set the isolation of the DataSource (for Hikari 'spring.datasource.hikari.transaction-isolation') or of "
						+ "@Transactional to READ_COMMITTED, or 'idempotency.jdbc.layout' to 'single', or use leased mode.");
		assertStarts(repeatable.withUserConfiguration(ReadCommittedListener.class));
		assertStarts(repeatable.withUserConfiguration(LeasedListener.class));
	}

	@Test
	void serializableListenerIsRefusedWithPartitions() {
		FailureAnalysis analysis = Contexts
			.failure(this.runner.withPropertyValues("idempotency.jdbc.layout=partitioned")
				.withUserConfiguration(SerializableListener.class));
		assertThat(analysis.getDescription())
			.contains("SerializableListener.listen is transactional, but its " + "transactions are SERIALIZABLE");
	}

	@ParameterizedTest
	@ValueSource(classes = { OtherTypedStore.class, OtherStore.class })
	void applicationStoreDoesNotJoinTransactionsOfAnotherDataSource(Class<?> configuration) {
		try (Logs logs = new Logs()) {
			this.runner.withUserConfiguration(configuration).run((context) -> {
				IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
				assertThat(template.supportsTransactions()).isFalse();
				assertThat(template
					.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.LEASED), new TextCodec(), () -> "done")
					.result()).isEqualTo("done");
			});
			assertThat(logs.messages("WARN")).anyMatch((message) -> message.contains("No transaction manager manages"));
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { ManagedTypedStore.class, ManagedStore.class })
	void applicationStoreJoinsTransactionsOfItsOwnDataSource(Class<?> configuration) {
		this.runner.withUserConfiguration(configuration).run((context) -> {
			IdempotencyTemplate template = context.getBean(IdempotencyTemplate.class);
			assertThat(context.getBean(IdempotencyTemplate.class).transactionManager())
				.isSameAs(context.getBean("secondManager"));
			assertThat(template
				.execute(TestDatabase.operation(TestDatabase.newKey(), Mode.TRANSACTIONAL), new TextCodec(),
						() -> "done")
				.result()).isEqualTo("done");
		});
	}

	private static DataSource migrated() {
		DataSource dataSource = new DriverManagerDataSource(Servers.newDatabase(), Servers.postgres().username(),
				Servers.postgres().password());
		JdbcSchemaMigration.migrate(dataSource, TABLE);
		return dataSource;
	}

	private static JdbcIdempotencyStore store(DataSource dataSource) {
		return new JdbcIdempotencyStore(dataSource, TABLE, Duration.ofSeconds(2));
	}

	@Configuration(proxyBeanMethods = false)
	static class Migrating {

		@Bean(defaultCandidate = false)
		@FlywayDataSource
		DataSource migrating(Environment environment) {
			String url = environment.getProperty("migrating.url", environment.getProperty("spring.datasource.url", ""));
			String user = environment.getProperty("migrating.user");
			return (user != null) ? new DriverManagerDataSource(url, user, user)
					: new DriverManagerDataSource(url, Servers.postgres().username(), Servers.postgres().password());
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class MigratingAnother {

		@Bean(defaultCandidate = false)
		@FlywayDataSource
		DataSource migrating() throws SQLException {
			DataSource dataSource = mock();
			Connection connection = mock();
			DatabaseMetaData metaData = mock();
			given(dataSource.getConnection()).willReturn(connection);
			given(connection.getMetaData()).willReturn(metaData);
			given(metaData.getDatabaseProductName()).willReturn("MySQL");
			return dataSource;
		}

	}

	static class AutoListener {

		@Idempotent
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class LeasedListener {

		@Idempotent(mode = Mode.LEASED)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class ReadCommittedListener {

		@Idempotent
		@Transactional(isolation = Isolation.READ_COMMITTED)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class SerializableListener {

		@Idempotent
		@Transactional(isolation = Isolation.SERIALIZABLE)
		@KafkaListener(topics = "topic", groupId = "group")
		void listen(String value) {
		}

	}

	static class First {

		@Bean
		@Primary
		DataSource first() {
			return migrated();
		}

		@Bean
		@Primary
		JdbcTransactionManager firstManager(DataSource first) {
			return new JdbcTransactionManager(first);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OtherTypedStore extends First {

		@Bean
		JdbcIdempotencyStore ledgerStore() {
			return store(migrated());
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OtherStore extends First {

		@Bean
		IdempotencyStore ledgerStore() {
			return store(migrated());
		}

	}

	static class Second extends First {

		@Bean(defaultCandidate = false)
		DataSource second() {
			return migrated();
		}

		@Bean
		JdbcTransactionManager secondManager() {
			return new JdbcTransactionManager(second());
		}

	}

	@Configuration
	static class ManagedTypedStore extends Second {

		@Bean
		JdbcIdempotencyStore ledgerStore() {
			return store(second());
		}

	}

	@Configuration
	static class ManagedStore extends Second {

		@Bean
		IdempotencyStore ledgerStore() {
			return store(second());
		}

	}

}
