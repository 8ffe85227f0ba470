/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;

import javax.sql.DataSource;

/**
 * Reads the effects of all operations.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface EffectQuery {

	/**
	 * Read the effects, when no process of the application runs any more.
	 * @return one element for each effect, in the order in which the effects happened. An
	 * operation that took effect twice has two elements
	 * @throws Exception if they cannot be read
	 */
	Collection<Effect> read() throws Exception;

	/**
	 * Read the effects from a database.
	 * @param database the database
	 * @param sql a query that returns one row for each effect, in the order of the
	 * effects. The first column is the key of the operation. A second column, if there is
	 * one, is the identifier of the process that caused the effect
	 * @return the query
	 */
	static EffectQuery sql(DataSource database, String sql) {
		return () -> {
			List<Effect> effects = new ArrayList<>();
			try (Connection connection = database.getConnection();
					Statement statement = connection.createStatement();
					ResultSet rows = statement.executeQuery(sql)) {
				boolean process = rows.getMetaData().getColumnCount() > 1;
				while (rows.next()) {
					effects
						.add(process ? new Effect(rows.getString(1), rows.getLong(2)) : Effect.of(rows.getString(1)));
				}
			}
			return effects;
		};
	}

}
