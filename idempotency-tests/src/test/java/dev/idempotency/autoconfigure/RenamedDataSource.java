/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.autoconfigure;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.SQLException;

import javax.sql.DataSource;

import org.springframework.jdbc.datasource.DelegatingDataSource;

/**
 * A {@link DataSource} that reports another product name.
 */
class RenamedDataSource extends DelegatingDataSource {

	private final String name;

	RenamedDataSource(DataSource target, String name) {
		super(target);
		this.name = name;
	}

	@Override
	public Connection getConnection() throws SQLException {
		Connection connection = super.getConnection();
		DatabaseMetaData metaData = connection.getMetaData();
		DatabaseMetaData renamed = proxy(DatabaseMetaData.class,
				(proxy, method, arguments) -> "getDatabaseProductName".equals(method.getName()) ? this.name
						: method.invoke(metaData, arguments));
		return proxy(Connection.class, (proxy, method, arguments) -> "getMetaData".equals(method.getName()) ? renamed
				: method.invoke(connection, arguments));
	}

	private static <T> T proxy(Class<T> type, InvocationHandler handler) {
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, handler));
	}

}
