/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.jdbc.JdbcIdempotencyStore;
import dev.idempotency.jdbc.Layout;
import dev.idempotency.store.Claim;
import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyStore.Settlement;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.testsupport.Contexts;
import dev.idempotency.testsupport.Logs;
import dev.idempotency.testsupport.Servers;
import dev.idempotency.testsupport.TestDatabase;

import static dev.idempotency.contract.OneKey.one;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link RenewalDataSource}.
 */
@Tag("promise-2")
@Tag("promise-14")
class RenewalDataSourceTests {

	private static final Duration LEASE = Duration.ofSeconds(1);

	@RegisterExtension
	static TestDatabase database = TestDatabase.create();

	private final ApplicationContextRunner runner = Contexts.all()
		.withPropertyValues("spring.datasource.url=" + database.url(), "idempotency.mode=leased",
				"idempotency.store.timeout=500ms", "idempotency.jdbc.schema=none",
				"spring.datasource.hikari.maximum-pool-size=1", "spring.datasource.hikari.connection-timeout=5000",
				"spring.datasource.hikari.data-source-properties.ApplicationName=renewals");

	private final IdempotencyKey key = TestDatabase.newKey();

	private final IdempotentOperation operation = TestDatabase.operation(this.key, Mode.LEASED, null, LEASE);

	@Test
	void leaseIsRenewedWhileTheHandlerHoldsTheOnlyConnectionOfThePool() {
		this.runner.run((context) -> {
			assertThat(context).hasSingleBean(DataSource.class);
			JdbcTemplate jdbc = new JdbcTemplate(context.getBean(DataSource.class));
			TransactionTemplate transaction = new TransactionTemplate(
					context.getBean(PlatformTransactionManager.class));
			CountDownLatch end = new CountDownLatch(1);
			CompletableFuture<Void> handler = CompletableFuture
				.runAsync(() -> context.getBean(IdempotencyTemplate.class)
					.execute(this.operation, ResultCodec.none(), () -> transaction.execute((status) -> {
						jdbc.queryForObject("SELECT 1", Integer.class);
						hold(end);
						return null;
					})));
			try {
				await().until(() -> one(database.store()).find(this.key).isPresent());
				await().pollDelay(LEASE.plusMillis(500)).until(() -> true);
				assertThat(one(database.store()).claim(TestDatabase.request(this.key)))
					.isInstanceOf(Claim.InProgress.class);
				assertThat(sessions()).isEqualTo(2);
			}
			finally {
				end.countDown();
			}
			handler.get(10, TimeUnit.SECONDS);
			assertThat(database.record(this.key).state()).isEqualTo(State.COMPLETED);
		});
		await().until(() -> sessions() == 0);
	}

	private static int sessions() {
		return database.jdbc()
			.queryForObject("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'renewals' "
					+ "AND datname = current_database()", Integer.class);
	}

	@Test
	void renewalUsesThePoolWhenItsConnectionCannotBeOpened() throws SQLException {
		try (RenewalDataSource renewals = RenewalDataSource
			.forPool(new TransactionAwareDataSourceProxy(database.pool()), Duration.ofMillis(250));
				Logs logs = Logs.ofThisThread()) {
			int active = database.pool().getHikariPoolMXBean().getActiveConnections();
			try (Connection own = renewals.getConnection()) {
				assertThat(own.isValid(1)).isTrue();
				assertThat(database.pool().getHikariPoolMXBean().getActiveConnections()).isEqualTo(active);
				try (Connection shared = renewals.getConnection()) {
					assertThat(shared.isValid(1)).isTrue();
					assertThat(database.pool().getHikariPoolMXBean().getActiveConnections()).isEqualTo(active + 1);
				}
				renewals.getConnection().close();
				assertThat(logs.messages("WARN")).singleElement()
					.asString()
					.contains("one additional connection per instance");
			}
		}
	}

	@Test
	void renewalUsesAnUnknownDataSourceAndThisIsLogged() {
		try (Logs logs = Logs.ofThisThread()) {
			assertThat(RenewalDataSource.forPool(new DriverManagerDataSource(database.url()), Duration.ofSeconds(1)))
				.isNull();
			assertThat(logs.messages("INFO")).singleElement()
				.asString()
				.contains("DriverManagerDataSource", "make the pool larger");
		}
	}

	@Test
	void poolIsCopiedWithoutItsMeters() throws SQLException {
		SimpleMeterRegistry meters = new SimpleMeterRegistry();
		try (HikariDataSource pool = pool()) {
			pool.setMetricRegistry(meters);
			try (RenewalDataSource renewals = RenewalDataSource.forPool(pool, Duration.ofSeconds(1));
					Connection connection = renewals.getConnection()) {
				assertThat(connection.isValid(1)).isTrue();
			}
			assertThat(meters.getMeters()).isEmpty();
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void renewalUsesAPoolOrWrapperThatChangesItsConnections(boolean wrapper) {
		String role = createRole();
		HikariConfig config = new HikariConfig();
		database.pool().copyStateTo(config);
		config.setUsername(role);
		config.setPassword("secret");
		try (HikariDataSource pool = wrapper ? new HikariDataSource(config) : new ActingAsOwner(config)) {
			DataSource used = wrapper ? new DelegatingDataSource(pool) {

				@Override
				public Connection getConnection() throws SQLException {
					return asOwner(super.getConnection());
				}

			} : pool;
			JdbcIdempotencyStore store = new JdbcIdempotencyStore(used, TestDatabase.TABLE, TestDatabase.TIMEOUT,
					Layout.SINGLE, Duration.ZERO, RenewalDataSource.forPool(used, Duration.ofSeconds(1)));
			ClaimRequest request = TestDatabase.request(this.key);
			assertThat(one(store).claim(request)).isInstanceOf(Claim.Acquired.class);
			assertThat(one(store).renew(request)).isEqualTo(Settlement.SETTLED);
			store.close();
		}
	}

	@Test
	void credentialsThatChangeWhileThePoolRunsAreUsed() throws SQLException {
		String role = createRole();
		try (HikariDataSource pool = pool()) {
			pool.setUsername("gone");
			try (RenewalDataSource renewals = RenewalDataSource.forPool(pool, Duration.ofSeconds(1))) {
				pool.getHikariConfigMXBean().setUsername(role);
				pool.getHikariConfigMXBean().setPassword("secret");
				try (Connection shared = pool.getConnection(); Connection own = renewals.getConnection()) {
					assertThat(shared.isValid(1)).isTrue();
					assertThat(own.isValid(1)).isTrue();
					assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isEqualTo(1);
				}
			}
		}
	}

	private static HikariDataSource pool() {
		HikariDataSource pool = new HikariDataSource();
		database.pool().copyStateTo(pool);
		pool.setMaximumPoolSize(2);
		return pool;
	}

	private static String createRole() {
		String role = Servers.unique("role");
		database.jdbc().execute("CREATE ROLE \"" + role + "\" LOGIN NOINHERIT PASSWORD 'secret'");
		database.jdbc().execute("GRANT " + Servers.postgres().username() + " TO \"" + role + "\"");
		return role;
	}

	private static Connection asOwner(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute("SET ROLE " + Servers.postgres().username());
		}
		return connection;
	}

	private static void hold(CountDownLatch end) {
		try {
			end.await(20, TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * A pool that sets a role on its connections.
	 */
	private static final class ActingAsOwner extends HikariDataSource {

		ActingAsOwner(HikariConfig config) {
			super(config);
		}

		@Override
		public Connection getConnection() throws SQLException {
			return asOwner(super.getConnection());
		}

	}

}
