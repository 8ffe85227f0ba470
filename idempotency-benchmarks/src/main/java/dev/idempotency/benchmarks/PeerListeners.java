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

/**
 * The listeners without another project. All call the same handler.
 */
final class PeerListeners {

	private PeerListeners() {
	}

	/**
	 * A listener without protection.
	 */
	static class Bare {

		private final Charges charges;

		Bare(Charges charges) {
			this.charges = charges;
		}

		@BenchmarkListener(BenchmarkListener.PROTECTED)
		@Transactional
		void charge(ConsumerRecord<String, String> record) {
			this.charges.charge(record);
		}

	}

	/**
	 * A listener that inserts a row with a unique key by hand.
	 */
	static class UniqueKey {

		private final Charges charges;

		private final JdbcTemplate jdbc;

		UniqueKey(Charges charges, JdbcTemplate jdbc) {
			this.charges = charges;
			this.jdbc = jdbc;
			jdbc.execute("CREATE TABLE IF NOT EXISTS processed (key text PRIMARY KEY, "
					+ "processed_at timestamptz NOT NULL DEFAULT now())");
		}

		@BenchmarkListener(BenchmarkListener.PROTECTED)
		@Transactional
		void charge(ConsumerRecord<String, String> record) {
			if (this.jdbc.update("INSERT INTO processed (key) VALUES (?) ON CONFLICT DO NOTHING",
					Workload.key(record)) == 1) {
				this.charges.charge(record);
			}
		}

	}

	/**
	 * A listener that the library protects in transactional mode.
	 */
	static class InTransaction {

		private final Charges charges;

		InTransaction(Charges charges) {
			this.charges = charges;
		}

		@BenchmarkListener(BenchmarkListener.PROTECTED)
		@Idempotent(mode = Mode.TRANSACTIONAL)
		@Transactional
		void charge(ConsumerRecord<String, String> record) {
			this.charges.charge(record);
		}

	}

	/**
	 * A listener that the library protects in leased mode.
	 */
	static class Leased {

		private final Charges charges;

		Leased(Charges charges) {
			this.charges = charges;
		}

		@BenchmarkListener(BenchmarkListener.PROTECTED)
		@Idempotent(mode = Mode.LEASED)
		void charge(ConsumerRecord<String, String> record) {
			this.charges.charge(record);
		}

	}

}
