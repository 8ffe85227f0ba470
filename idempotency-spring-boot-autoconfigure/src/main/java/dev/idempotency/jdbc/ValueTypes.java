/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * How values are bound to parameters and read from columns, where the databases differ.
 */
interface ValueTypes {

	/**
	 * The types of a database that has arrays, UUIDs and times with a zone.
	 */
	ValueTypes STANDARD = new ValueTypes() {
	};

	// The value of a parameter.
	default @Nullable Object bind(String name, Parameters parameters, Connection connection) throws SQLException {
		return parameters.value(name, connection);
	}

	default @Nullable UUID uuid(ResultSet row, String column) throws SQLException {
		return row.getObject(column, UUID.class);
	}

	default @Nullable OffsetDateTime time(ResultSet row, int column) throws SQLException {
		return row.getObject(column, OffsetDateTime.class);
	}

}
