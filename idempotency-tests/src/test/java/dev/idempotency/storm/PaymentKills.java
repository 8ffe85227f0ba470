/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.Random;
import java.util.Set;

import dev.idempotency.test.kill.KillHarness;
import dev.idempotency.test.kill.KillReport;

/**
 * Kills processes of an application repeatedly while they process payments, and compares
 * their charges with what was sent.
 */
final class PaymentKills {

	private final Shape shape;

	private final PaymentProcesses processes;

	private final long seed;

	private final Random random;

	PaymentKills(Shape shape, Store store, long seed) {
		this.shape = shape;
		this.processes = new PaymentProcesses(shape, store);
		this.seed = seed;
		this.random = new Random(seed);
	}

	Result run(int payments, int rounds) {
		PaymentTraffic traffic = new PaymentTraffic(this.processes.topic(), this.random, this.shape.recognizesCopies());
		KillReport report = kill(traffic, payments, rounds);
		return new Result(this, report, traffic, new Charges(this.processes.charges()));
	}

	VersionResult runVersions(int versions, int rounds) {
		VersionTraffic traffic = new VersionTraffic(this.processes.topic(), this.random);
		KillReport report = kill(traffic, versions, rounds);
		return new VersionResult(this, report, traffic, new Charges(this.processes.charges()));
	}

	private KillReport kill(Traffic traffic, int count, int rounds) {
		KillReport report = KillHarness.of(this.processes.application())
			.name(this.processes.name())
			.seed(this.seed)
			.traffic((round) -> {
				traffic.send(count);
				traffic.keys().forEach(round::sent);
			})
			.pending(this.processes::lag)
			.effects(() -> this.processes.charges().stream().map(Charge::effect).toList())
			.kills(rounds)
			.run();
		System.out.println(report);
		return report;
	}

	/**
	 * The charges of payments.
	 *
	 * @param run the run
	 * @param report the kills
	 * @param traffic the payments
	 * @param charges the charges
	 */
	record Result(PaymentKills run, KillReport report, PaymentTraffic traffic, Charges charges) {

		void assertNoneLost() {
			this.report.assertNoneLost();
			this.charges.assertNoneLost(this.traffic.payments());
		}

		void assertNoneDoubled() {
			this.charges.assertNoneDoubled(this.traffic.payments());
		}

		void assertRepeatedOnlyByKilledProcesses() {
			this.run.processes.assertRepeatedOnlyByKilledProcesses(this.charges, this.report.killed());
		}

	}

	/**
	 * The versions that were applied to accounts.
	 *
	 * @param run the run
	 * @param report the kills
	 * @param traffic the versions
	 * @param charges the versions that were applied
	 */
	record VersionResult(PaymentKills run, KillReport report, VersionTraffic traffic, Charges charges) {

		void assertVersionsGrow() {
			this.report.assertNoneLost();
			Set<Long> open = this.run.shape.isTransactional() ? Set.of() : this.report.killed();
			this.charges.assertVersionsGrow(this.traffic.highest(), open);
		}

	}

}
