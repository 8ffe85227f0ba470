/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.util.Set;
import java.util.TreeSet;

import org.jspecify.annotations.Nullable;

/**
 * Records which methods of a connection are called without a network timeout.
 */
final class WatchedConnection {

	private final Connection connection;

	private final Set<String> unlimited = new TreeSet<>();

	private @Nullable String failing;

	private Throwable failure = new IllegalStateException();

	WatchedConnection(Connection connection) {
		this.connection = connection;
	}

	Connection proxy() {
		return (Connection) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { Connection.class },
				(proxy, method, arguments) -> call(method, arguments));
	}

	private @Nullable Object call(Method method, Object[] arguments) throws Throwable {
		if (this.connection.getNetworkTimeout() == 0) {
			this.unlimited.add(method.getName());
		}
		if (method.getName().equals(this.failing)) {
			throw this.failure;
		}
		try {
			return method.invoke(this.connection, arguments);
		}
		catch (InvocationTargetException ex) {
			throw ex.getTargetException();
		}
	}

	void failAt(String method, Throwable failure) {
		this.failing = method;
		this.failure = failure;
	}

	Set<String> unlimited() {
		return this.unlimited;
	}

}
