/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

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
		transferAll(records);
	}

	@BenchmarkListener(value = BenchmarkListener.PROTECTED, batch = "true")
	@Idempotent(mode = Mode.TRANSACTIONAL)
	@Transactional
	void protectedTransfers(List<ConsumerRecord<String, String>> records) {
		transferAll(records);
	}

	void transferAll(List<ConsumerRecord<String, String>> records) {
		this.transfers.transferAll(records);
	}

	/**
	 * The limit is what a team writes that protects itself: the unique keys of the batch
	 * in one statement of the same transaction.
	 */
	static class ByHand extends BatchTransferListeners {

		private final JdbcTemplate jdbc;

		ByHand(JdbcTemplate jdbc) {
			super(jdbc);
			this.jdbc = jdbc;
			jdbc.execute(Database.POSTGRESQL.createProcessed());
		}

		@Override
		@BenchmarkListener(value = BenchmarkListener.LIMIT, batch = "true")
		@Transactional
		void unprotectedTransfers(List<ConsumerRecord<String, String>> records) {
			Set<String> inserted = new HashSet<>(this.jdbc.queryForList(
					"""
							INSERT INTO processed (payment) SELECT unnest(?::text[]) ON CONFLICT DO NOTHING RETURNING payment""",
					String.class, (Object) records.stream().map(Workload::key).sorted().toArray(String[]::new)));
			transferAll(records.stream().filter((record) -> inserted.contains(Workload.key(record))).toList());
		}

	}

}
