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

import javax.sql.DataSource;

/**
 * Counts the pending work of the application: records that a consumer group has not
 * consumed ({@link ConsumerLag}), rows of an outbox that are not published.
 *
 * @since 0.1.0
 */
@FunctionalInterface
public interface PendingQuery {

	/**
	 * Count the pending work. The harness calls this often while it waits for the moment
	 * of an interruption.
	 * @return the number of pending units, 0 if all operations have taken effect
	 * @throws Exception if the number is not known at the moment. The harness tries again
	 */
	long count() throws Exception;

	/**
	 * Count with a query.
	 * @param database the database
	 * @param sql a query that returns one number, for example {@code select count(*) …}
	 * @return the query
	 */
	static PendingQuery sql(DataSource database, String sql) {
		return () -> {
			try (Connection connection = database.getConnection();
					Statement statement = connection.createStatement();
					ResultSet rows = statement.executeQuery(sql)) {
				rows.next();
				return rows.getLong(1);
			}
		};
	}

	/**
	 * Add the figures of several queries.
	 * @param queries the queries, in the order in which an operation passes the places
	 * that they count. In another order, the sum could miss an operation that moves
	 * between two of them
	 * @return the sum
	 */
	static PendingQuery sum(PendingQuery... queries) {
		return () -> {
			long sum = 0;
			for (PendingQuery query : queries) {
				sum += query.count();
			}
			return sum;
		};
	}

}
