/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.sql.Connection;
import java.sql.SQLException;

import javax.sql.DataSource;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Warns of connections whose driver waits for an answer without limit. The store limits
 * its own statements, but not those of handlers and the commits of transaction managers.
 */
final class NetworkTimeouts {

	private static final Log logger = LogFactory.getLog(NetworkTimeouts.class);

	private NetworkTimeouts() {
	}

	static void check(DataSource dataSource, String store) {
		if (!isLimited(dataSource)) {
			logger.warn("The connections of the idempotency store '" + store + "' have no network timeout. If the "
					+ "network loses a connection without a reset, a handler or a commit that uses it waits for up to "
					+ "a quarter of an hour, and its partition is not processed meanwhile. Add 'socketTimeout' to the "
					+ "JDBC URL, for example 60 for PostgreSQL (seconds) or 60000 for MariaDB and MySQL "
					+ "(milliseconds). It must be longer than your longest statement");
		}
	}

	private static boolean isLimited(DataSource dataSource) {
		try (Connection connection = dataSource.getConnection()) {
			// The database of H2 is in this process, or used by tests only.
			return connection.getNetworkTimeout() != 0
					|| connection.getMetaData().getDatabaseProductName().equals("H2");
		}
		catch (SQLException ex) {
			// The driver has no such timeout, or the pool has lost its connection.
			return true;
		}
	}

}
