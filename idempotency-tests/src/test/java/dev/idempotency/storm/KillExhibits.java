/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.List;
import java.util.Locale;

import dev.idempotency.evidence.Exhibit;
import dev.idempotency.evidence.Finding;
import dev.idempotency.evidence.Section;

/**
 * Kills for the page of evidence, a hundred of each subject.
 */
public final class KillExhibits {

	private static final int RUNS = 4;

	private static final int KILLS = 25;

	// A kill meets processes that work, but need not wait for long until they have ended.
	private static final int PAYMENTS = 500;

	private KillExhibits() {
	}

	/**
	 * Return the exhibits.
	 * @return the exhibits, in the order of the page
	 */
	public static List<Exhibit> all() {
		return List.of(new Payments("transactional, PostgreSQL", Shape.TRANSACTIONAL, Store.JDBC),
				new Payments("transactional batches, PostgreSQL", Shape.BATCH_TRANSACTIONAL, Store.JDBC),
				new OutboxKill(), new Payments("transactional, MariaDB", Shape.TRANSACTIONAL, Store.MARIADB),
				new Payments("leased, PostgreSQL", Shape.RECORD, Store.JDBC),
				new Payments("leased, MariaDB", Shape.RECORD, Store.MARIADB),
				new Payments("leased, Redis", Shape.RECORD, Store.REDIS),
				new Payments("leased, DynamoDB Local", Shape.RECORD, Store.DYNAMO_DB),
				new Payments("asynchronous, PostgreSQL", Shape.ASYNC, Store.JDBC),
				new Versions("transactional versions, PostgreSQL", Shape.VERSION_TRANSACTIONAL, Store.JDBC),
				new Payments("leased batches, Redis", Shape.BATCH, Store.REDIS));
	}

	private static String name(String title) {
		return "kills/" + title.toLowerCase(Locale.ROOT).replaceAll("[^a-z]+", "-");
	}

	private interface KillExhibit extends Exhibit {

		@Override
		default String name() {
			return KillExhibits.name(title());
		}

		@Override
		default Section section() {
			return Section.KILLS;
		}

		@Override
		default int runs() {
			return RUNS;
		}

	}

	private record Payments(String title, Shape shape, Store store) implements KillExhibit {

		@Override
		public Finding run(long seed) {
			PaymentKills.Result result = new PaymentKills(this.shape, this.store, seed)
				.run(this.shape.speed() * PAYMENTS, KILLS);
			int doubles = result.charges().doubles();
			boolean transactional = this.shape.isTransactional();
			return Finding
				.of("kills", result.report().killed().size(), "operations", result.traffic().payments().size(), "lost",
						result.charges().lost(result.traffic().payments()), "doubled", transactional ? doubles : 0,
						"open at a kill", transactional ? 0 : doubles)
				.checkedBy(() -> {
					result.assertNoneLost();
					if (transactional) {
						result.assertNoneDoubled();
					}
					else {
						result.assertRepeatedOnlyByKilledProcesses();
					}
				});
		}

	}

	private record Versions(String title, Shape shape, Store store) implements KillExhibit {

		@Override
		public Finding run(long seed) {
			PaymentKills.VersionResult result = new PaymentKills(this.shape, this.store, seed).runVersions(PAYMENTS,
					KILLS);
			return Finding
				.of("kills", result.report().killed().size(), "operations", result.traffic().records(), "lost", 0,
						"doubled", 0, "open at a kill", 0)
				.checkedBy(result::assertVersionsGrow);
		}

	}

	private record OutboxKill() implements KillExhibit {

		@Override
		public String title() {
			return "transactional with the outbox, PostgreSQL; also the broker";
		}

		@Override
		public Finding run(long seed) throws Exception {
			try (OutboxKills kills = new OutboxKills(seed)) {
				OutboxKills.Result result = kills.run(KILLS);
				return Finding.of("kills", result.kills(), "operations", result.payments(), "lost", 0, "doubled", 0,
						"open at a kill", 0, "events", result.events(), "events published again", result.repeated());
			}
		}

	}

}
