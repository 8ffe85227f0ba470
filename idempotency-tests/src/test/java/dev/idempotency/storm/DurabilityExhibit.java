/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Supplier;

import dev.idempotency.evidence.Exhibit;
import dev.idempotency.evidence.Finding;
import dev.idempotency.evidence.Section;
import dev.idempotency.testsupport.RedisProcess;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A Redis server that is killed and restarted under load. At the end all payments are
 * sent once more, so that each key that was forgotten takes effect again.
 *
 * @param title the settings of the server
 * @param server starts the server
 * @param cut whether the changes of the last two seconds before each kill are removed, as
 * when the machine fails
 * @param forgets the time before a kill whose keys may be forgotten
 */
public record DurabilityExhibit(String title, Supplier<RedisProcess> server, boolean cut,
		Duration forgets) implements Exhibit {

	private static final int RESTARTS = 5;

	/**
	 * Return the exhibits.
	 * @return the exhibits, in the order of the page
	 */
	public static List<Exhibit> all() {
		return List.of(new DurabilityExhibit("appendfsync always, killed", RedisProcess::durable, false, Duration.ZERO),
				new DurabilityExhibit("appendfsync everysec, killed", RedisProcess::everySecond, false,
						RedisRestarts.PAUSE),
				new DurabilityExhibit("appendfsync everysec, and the file loses two seconds", RedisProcess::everySecond,
						true, RedisRestarts.PAUSE),
				new DurabilityExhibit("no AOF and no snapshot, killed", RedisProcess::create, false,
						Duration.ofDays(1)));
	}

	@Override
	public String name() {
		return "durability/" + this.title.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-");
	}

	@Override
	public Section section() {
		return Section.DURABILITY;
	}

	@Override
	public Finding run(long seed) throws Exception {
		Random random = new Random(seed);
		try (RedisRestarts restarts = new RedisRestarts(this.server.get(), this.cut, this.forgets);
				FailoverTrial trial = new FailoverTrial(Shape.RECORD, restarts, random);
				TrialRun run = new TrialRun(trial, random)) {
			run.begin();
			for (int i = 0; i < RESTARTS; i++) {
				restarts.happen(run, trial.topic().name());
			}
			run.goOn(RedisRestarts.PAUSE);
			run.endTraffic();
			String stalled = run.awaitEnd();
			TimedCharges once = trial.charges();
			PaymentTraffic traffic = trial.traffic();
			long forgotten = traffic.payments().size() - restarts.completed();
			traffic.repeat();
			stalled = stalled.isEmpty() ? run.awaitEnd() : stalled;
			TimedCharges all = trial.charges();
			Finding finding = Finding.of("operations", traffic.payments().size(), "restarts", RESTARTS, "lost",
					once.lost(traffic.keys()).size(), "doubled", all.doubles(), "keys forgotten",
					forgotten + once.doubles());
			return stalled.isEmpty() ? finding.checkedBy(() -> {
				restarts.check(traffic, once, all);
				assertThat((long) all.doubles() - once.doubles()).as("doubled by sending all payments once more")
					.isEqualTo(forgotten);
			}) : new Finding(finding.figures(), stalled);
		}
	}

}
