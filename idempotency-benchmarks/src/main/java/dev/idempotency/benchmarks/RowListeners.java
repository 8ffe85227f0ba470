/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.sql.SQLException;
import java.util.UUID;

import org.apache.kafka.clients.consumer.ConsumerRecord;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * A protected handler that does nothing, and the minimum of bare statements as its limit.
 */
class RowListeners {

	private final RowLimit rows;

	RowListeners(RowLimit rows) {
		this.rows = rows;
	}

	@BenchmarkListener(BenchmarkListener.LIMIT)
	void bareStatements(ConsumerRecord<String, String> record) throws SQLException {
		String key = Workload.key(record);
		UUID id = UUID.fromString(key);
		if (Workload.isDuplicate(record)) {
			this.rows.select(id);
		}
		else {
			this.rows.insert(id, key);
			this.rows.complete(id);
		}
	}

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.LEASED)
	void protectedNothing(ConsumerRecord<String, String> record) {
	}

}
