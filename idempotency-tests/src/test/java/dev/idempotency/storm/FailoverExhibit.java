/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.Callable;

import dev.idempotency.evidence.Exhibit;
import dev.idempotency.evidence.Finding;
import dev.idempotency.evidence.Section;

/**
 * A server that fails under load and is replaced. At the end all payments are sent once
 * more, so that each key that was forgotten takes effect again.
 *
 * @param title the servers
 * @param shape the shape of the listener
 * @param promise what the guarantees of the README say
 * @param obstacle why the run is not possible on this machine, empty if it is
 * @param start starts the servers
 */
record FailoverExhibit(String title, Shape shape, String promise, String obstacle,
		Callable<? extends Failure> start) implements Exhibit {

	private static final Duration AFTERWARDS = Duration.ofSeconds(15);

	@Override
	public String name() {
		return "failovers/" + this.title.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
	}

	@Override
	public Section section() {
		return Section.FAILOVERS;
	}

	@Override
	public Finding run(long seed) throws Exception {
		if (!this.obstacle.isEmpty()) {
			return Finding.notPossible(this.obstacle);
		}
		Random random = new Random(seed);
		try (Failure failure = this.start.call();
				FailoverTrial trial = new FailoverTrial(this.shape, failure, random);
				TrialRun run = new TrialRun(trial, random)) {
			run.begin();
			long failed = failure.happen(run, trial.topic().name());
			run.goOn(AFTERWARDS);
			run.endTraffic();
			String stalled = run.awaitEnd();
			TimedCharges once = trial.charges();
			trial.traffic().repeat();
			stalled = stalled.isEmpty() ? run.awaitEnd() : stalled;
			TimedCharges all = trial.charges();
			PaymentTraffic traffic = trial.traffic();
			Finding finding = Finding.of("operations", traffic.payments().size(), "lost",
					once.lost(traffic.keys()).size(), "doubled", all.doubles(), "longest delay, s",
					seconds(once.longestDelay(traffic.sent())), "recovered, s",
					seconds(once.recovered(traffic.sent(), failed) - failed), "promised", this.promise);
			return stalled.isEmpty() ? finding.checkedBy(() -> failure.check(traffic, once, all))
					: new Finding(finding.figures(), stalled);
		}
	}

	private static String seconds(long millis) {
		return String.format(Locale.ROOT, "%.1f", millis / 1e3);
	}

}
