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

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.springframework.util.ClassUtils;

import dev.idempotency.outbox.OutboxLoop;

/**
 * Receives PostgreSQL's notifications of other instances about new messages in the
 * outbox. It keeps one connection open. The relay's next poll finds messages whose
 * notification is lost.
 */
final class OutboxNotifications extends OutboxLoop {

	private static final Log logger = LogFactory.getLog(OutboxNotifications.class);

	// One wait for notifications, which stop() has to await.
	private static final Duration SLICE = Duration.ofMillis(500);

	private static final Duration RETRY = Duration.ofSeconds(5);

	private static final Duration NEVER = Duration.ofDays(1);

	private static final boolean HIKARI = ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", null);

	private static final int CHECK_EVERY = 60;

	private static final int CHECK_SECONDS = 2;

	private final DataSource dataSource;

	private final TableName table;

	private final Runnable listener;

	private boolean warned;

	OutboxNotifications(DataSource dataSource, TableName table, Runnable listener) {
		super("idempotency-outbox-notifications", SLICE.multipliedBy(4));
		this.dataSource = dataSource;
		this.table = table;
		this.listener = listener;
	}

	@Override
	protected Duration step() {
		try {
			// A connection that is kept would be missing to the application.
			if (HIKARI && this.dataSource.isWrapperFor(HikariDataSource.class)
					&& this.dataSource.unwrap(HikariDataSource.class).getMaximumPoolSize() == 1) {
				logger.info("The relay of the outbox '" + this.table + "' does not receive notifications of other "
						+ "instances, because its pool has only one connection. It finds their messages by polling");
				return NEVER;
			}
			try (Connection connection = this.dataSource.getConnection()) {
				listen(connection);
			}
			this.warned = false;
			return Duration.ZERO;
		}
		catch (SQLException | RuntimeException | Error ex) {
			if (!this.warned && isCurrent()) {
				logger.warn("The relay of the outbox '" + this.table + "' cannot receive notifications of other "
						+ "instances. It finds their messages by polling and tries again in " + RETRY, ex);
			}
			this.warned = true;
			return RETRY;
		}
	}

	private void listen(Connection connection) throws SQLException {
		PGConnection driver = connection.unwrap(PGConnection.class);
		boolean autoCommit = connection.getAutoCommit();
		connection.setAutoCommit(true);
		try {
			try (Statement statement = connection.createStatement()) {
				statement.execute("LISTEN \"" + this.table.table() + "\"");
			}
			// Messages may have been committed before LISTEN.
			this.listener.run();
			for (int slice = 1; isCurrent(); slice++) {
				PGNotification[] notifications = driver.getNotifications((int) SLICE.toMillis());
				if (notifications != null && notifications.length > 0) {
					this.listener.run();
				}
				// A connection without notifications may be dead.
				if (slice % CHECK_EVERY == 0 && !connection.isValid(CHECK_SECONDS)) {
					throw new SQLException("The connection is not valid any more");
				}
			}
		}
		finally {
			// Other components may use the connection after its return to the pool.
			if (!connection.isClosed()) {
				try (Statement statement = connection.createStatement()) {
					statement.execute("UNLISTEN *");
				}
				connection.setAutoCommit(autoCommit);
			}
		}
	}

}
