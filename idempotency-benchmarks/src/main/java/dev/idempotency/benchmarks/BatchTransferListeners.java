/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.List;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * Handlers that run the business transactions of a batch in one transaction.
 */
class BatchTransferListeners {

	private final Transfers transfers;

	BatchTransferListeners(JdbcTemplate jdbc) {
		this.transfers = new Transfers(jdbc);
	}

	@BenchmarkListener(value = BenchmarkListener.LIMIT, batch = "true")
	@Transactional
	void unprotectedTransfers(List<ConsumerRecord<String, String>> records) {
		this.transfers.transferAll(records);
	}

	@BenchmarkListener(value = BenchmarkListener.PROTECTED, batch = "true")
	@Idempotent(mode = Mode.TRANSACTIONAL)
	@Transactional
	void protectedTransfers(List<ConsumerRecord<String, String>> records) {
		this.transfers.transferAll(records);
	}

}
