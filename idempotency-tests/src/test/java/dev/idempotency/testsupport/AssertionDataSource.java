/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.testsupport;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Properties;

import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.SmartDataSource;
import org.springframework.jdbc.support.JdbcUtils;

/**
 * Connections for the statements of tests, of which the most recently used of all
 * databases stay open: a test that polls a table would open thousands. Nothing of a
 * session may be kept by a statement.
 */
final class AssertionDataSource extends DriverManagerDataSource implements SmartDataSource {

	private static final int OPEN = 24;

	private static final Deque<Idle> IDLE = new ArrayDeque<>();

	AssertionDataSource(String url, String username, String password) {
		super(url, username, password);
		Properties properties = new Properties();
		// A table may be changed between two executions.
		properties.setProperty("prepareThreshold", "0");
		setConnectionProperties(properties);
	}

	@Override
	public Connection getConnection() throws SQLException {
		Connection idle = take();
		if (idle != null && idle.isValid(1)) {
			return idle;
		}
		JdbcUtils.closeConnection(idle);
		return super.getConnection();
	}

	private Connection take() {
		synchronized (IDLE) {
			for (Iterator<Idle> entries = IDLE.iterator(); entries.hasNext();) {
				Idle entry = entries.next();
				if (entry.url.equals(getUrl())) {
					entries.remove();
					return entry.connection;
				}
			}
			return null;
		}
	}

	@Override
	public boolean shouldClose(Connection connection) {
		Idle eldest = null;
		synchronized (IDLE) {
			IDLE.addFirst(new Idle(getUrl(), connection));
			if (IDLE.size() > OPEN) {
				eldest = IDLE.removeLast();
			}
		}
		if (eldest != null) {
			JdbcUtils.closeConnection(eldest.connection);
		}
		return false;
	}

	private record Idle(String url, Connection connection) {

	}

}
