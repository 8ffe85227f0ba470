/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;
import dev.idempotency.OtherContentPolicy;

/**
 * Handlers that run a business transaction of two statements.
 */
class TransferListeners {

	private final Transfers transfers;

	TransferListeners(JdbcTemplate jdbc) {
		this.transfers = new Transfers(jdbc);
	}

	@BenchmarkListener(BenchmarkListener.LIMIT)
	@Transactional
	void unprotectedTransfer(ConsumerRecord<String, String> record) {
		transfer(record);
	}

	@BenchmarkListener(BenchmarkListener.PROTECTED)
	@Idempotent(mode = Mode.TRANSACTIONAL)
	@Transactional
	void protectedTransfer(ConsumerRecord<String, String> record) {
		transfer(record);
	}

	void transfer(ConsumerRecord<String, String> record) {
		this.transfers.transfer(Workload.key(record));
	}

	/**
	 * The limit is what a team writes that protects itself: a unique key in the same
	 * transaction.
	 */
	static class ByHand extends TransferListeners {

		private final JdbcTemplate jdbc;

		private final Database database;

		ByHand(JdbcTemplate jdbc) {
			super(jdbc);
			this.jdbc = jdbc;
			this.database = Database.of(jdbc);
			jdbc.execute(this.database.createProcessed());
		}

		@Override
		@BenchmarkListener(BenchmarkListener.LIMIT)
		@Transactional
		void unprotectedTransfer(ConsumerRecord<String, String> record) {
			if (this.jdbc.update(this.database.insertProcessed(), Workload.key(record)) == 1) {
				transfer(record);
			}
		}

	}

	/**
	 * The limit is protected, too, and does not compare the contents of duplicates.
	 */
	static class WithoutComparison extends TransferListeners {

		WithoutComparison(JdbcTemplate jdbc) {
			super(jdbc);
		}

		@Override
		@BenchmarkListener(BenchmarkListener.LIMIT)
		@Idempotent(mode = Mode.TRANSACTIONAL, onOtherContent = OtherContentPolicy.IGNORE)
		@Transactional
		void unprotectedTransfer(ConsumerRecord<String, String> record) {
			transfer(record);
		}

	}

	/**
	 * The limit pays for one more round trip and nothing else.
	 */
	static class EmptyStatement extends TransferListeners {

		private final JdbcTemplate jdbc;

		EmptyStatement(JdbcTemplate jdbc) {
			super(jdbc);
			this.jdbc = jdbc;
		}

		@Override
		@BenchmarkListener(BenchmarkListener.LIMIT)
		@Transactional
		void unprotectedTransfer(ConsumerRecord<String, String> record) {
			this.jdbc.queryForObject("SELECT 1", Integer.class);
			transfer(record);
		}

	}

}
