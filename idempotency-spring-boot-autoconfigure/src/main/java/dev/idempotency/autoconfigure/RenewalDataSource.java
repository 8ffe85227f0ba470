/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.util.ClassUtils;

/**
 * Provides a dedicated connection for the renewal of leases. Handlers may hold all
 * connections of the application's pool for longer than a lease. The connection has the
 * configuration of that pool. It is opened by the first renewal and closed when it is
 * idle. If it cannot be opened, renewals use a connection of the pool.
 */
final class RenewalDataSource extends AbstractDataSource implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(RenewalDataSource.class);

	private static final Duration IDLE_TIMEOUT = Duration.ofMinutes(1);

	private final HikariDataSource own;

	private final HikariDataSource model;

	private final DataSource pool;

	private volatile boolean shared;

	private RenewalDataSource(HikariDataSource own, HikariDataSource model, DataSource pool) {
		this.own = own;
		this.model = model;
		this.pool = pool;
	}

	static @Nullable RenewalDataSource forPool(DataSource pool, Duration timeout) {
		DataSource target = target(pool);
		if (target instanceof AbstractRoutingDataSource) {
			// Such a store supports transactional mode only.
			return null;
		}
		// A subclass of the pool may change the properties of its connections.
		if (!ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", RenewalDataSource.class.getClassLoader())
				|| !(target instanceof HikariDataSource hikari) || target.getClass() != HikariDataSource.class) {
			logger.info(
					"Lease renewals share the connection pool of the application, because the store's DataSource is a "
							+ target.getClass().getName()
							+ " and not a HikariDataSource. In leased mode, make the pool larger than the number of "
							+ "connections that handlers hold at the same time. Otherwise leases expire while their "
							+ "handlers run");
			return null;
		}
		return new RenewalDataSource(copy(hikari, timeout), hikari, pool);
	}

	// Any other wrapper may change the properties of the connections.
	private static DataSource target(DataSource pool) {
		DataSource target = pool;
		while (target instanceof DelegatingDataSource delegating
				&& (delegating.getClass() == TransactionAwareDataSourceProxy.class
						|| delegating.getClass() == LazyConnectionDataSourceProxy.class)
				&& delegating.getTargetDataSource() != null) {
			target = delegating.getTargetDataSource();
		}
		return target;
	}

	// Without meters, because both pools would register the same ones.
	private static HikariDataSource copy(HikariDataSource pool, Duration timeout) {
		HikariDataSource copy = new HikariDataSource();
		pool.copyStateTo(copy);
		copy.setPoolName("idempotency-renewals");
		if (copy.getMetricRegistry() != null) {
			copy.setMetricRegistry(null);
		}
		else {
			copy.setMetricsTrackerFactory(null);
		}
		copy.setHealthCheckRegistry(null);
		copy.setRegisterMbeans(false);
		copy.setAllowPoolSuspension(false);
		copy.setMaximumPoolSize(1);
		copy.setMinimumIdle(0);
		copy.setIdleTimeout(IDLE_TIMEOUT.toMillis());
		copy.setInitializationFailTimeout(-1);
		copy.setConnectionTimeout(Math.max(timeout.toMillis(), 250));
		return copy;
	}

	@Override
	public Connection getConnection() throws SQLException {
		// The credentials of the pool can change while it is in use.
		this.own.setCredentials(this.model.getCredentials());
		try {
			Connection connection = this.own.getConnection();
			this.shared = false;
			return connection;
		}
		catch (SQLException ex) {
			if (!this.shared && !this.own.isClosed()) {
				logger.warn("The connection for lease renewals could not be opened (SQL state " + ex.getSQLState()
						+ "). Renewals use the connection pool of the application until it can be opened. If the "
						+ "database is available, allow one additional connection per instance. Otherwise leases may "
						+ "expire while handlers hold all connections of the pool");
			}
			this.shared = true;
			logger.debug("The connection for lease renewals could not be opened", ex);
			return this.pool.getConnection();
		}
	}

	@Override
	public Connection getConnection(String username, String password) throws SQLException {
		return getConnection();
	}

	@Override
	public void close() {
		this.own.close();
	}

}
