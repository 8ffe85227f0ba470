/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

/**
 * The statements that delete the expired rows of a table.
 *
 * @param turn tries to acquire the cleanup turn, without waiting. Parameter:
 * {@code silence}, how many milliseconds the transaction may be idle, as text. Column:
 * whether the turn was acquired
 * @param deletion deletes a batch of expired rows. Parameters: {@code patience}, the time
 * in milliseconds since which they have expired at least; {@code reached}, the expiry of
 * the last row of the previous batch; {@code limit}. Columns: the number of deleted rows,
 * and the expiry of the last one
 * @param backlog reads the time in milliseconds since the oldest expired row has expired
 */
record ExpirySql(SqlStatement turn, SqlStatement deletion, SqlStatement backlog) {

	// For a database that needs no lock.
	static final SqlStatement NO_TURN = SqlStatement.of("SELECT :silence IS NOT NULL");

}
