/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

import org.awaitility.core.ConditionTimeoutException;

import dev.idempotency.evidence.Exhibit;
import dev.idempotency.evidence.Finding;
import dev.idempotency.evidence.Section;
import dev.idempotency.testsupport.FaultyNetwork.Fault;

/**
 * A fault of the network between an application and one of its servers.
 *
 * @param target the server
 * @param fault the fault
 */
public record NetworkExhibit(NetworkTarget target, Fault fault) implements Exhibit {

	private static final Duration FAULT = Duration.ofSeconds(8);

	/**
	 * Return the exhibits.
	 * @return the exhibits, in the order of the page
	 */
	public static List<Exhibit> all() {
		List<Exhibit> exhibits = new ArrayList<>();
		for (NetworkTarget target : NetworkTarget.values()) {
			for (Fault fault : Fault.values()) {
				if (fault != Fault.NONE) {
					exhibits.add(new NetworkExhibit(target, fault));
				}
			}
		}
		return exhibits;
	}

	@Override
	public String name() {
		return "network/" + text(this.target).replaceAll("[^a-z]+", "-") + "-" + text(this.fault).replace(' ', '-');
	}

	@Override
	public Section section() {
		return Section.NETWORK;
	}

	@Override
	public String title() {
		return this.target.title() + ": " + text(this.fault);
	}

	private static String text(Enum<?> constant) {
		return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
	}

	@Override
	public Finding run(long seed) throws Exception {
		Random random = new Random(seed);
		try (NetworkTrial trial = new NetworkTrial(this.target, random); TrialRun run = new TrialRun(trial, random)) {
			run.begin();
			trial.network().set(this.fault);
			run.goOn(FAULT);
			trial.network().set(Fault.NONE);
			return afterwards(trial, run);
		}
	}

	private Finding afterwards(NetworkTrial trial, TrialRun run) throws Exception {
		long end = System.nanoTime();
		long before = trial.effects();
		run.endTraffic();
		double next = -1;
		double all = -1;
		String stalled = "";
		try {
			TrialRun.await(() -> trial.effects() > before || trial.lag() == 0);
			next = seconds(end);
			stalled = run.awaitEnd();
			all = stalled.isEmpty() ? seconds(end) : -1;
		}
		catch (ConditionTimeoutException ex) {
			stalled = "not recovered within " + TrialRun.PATIENCE.toSeconds() + " s";
		}
		Charges charges = new Charges(trial.charges());
		boolean transactional = this.target.shape().isTransactional();
		int doubles = charges.doubles();
		Finding finding = Finding.of("operations", trial.traffic().payments().size(), "lost",
				charges.lost(trial.traffic().payments()), "doubled", transactional ? doubles : 0, "open at the fault",
				transactional ? 0 : doubles, "next effect after, s", round(next), "all done after, s", round(all));
		if (!stalled.isEmpty()) {
			return new Finding(finding.figures(), stalled);
		}
		return finding.checkedBy(() -> {
			charges.assertNoneLost(trial.traffic().payments());
			if (transactional) {
				charges.assertNoneDoubled(trial.traffic().payments());
			}
			else {
				charges.assertRepeatedAtMost(TrialRun.PROCESSES * PaymentProcesses.THREADS);
			}
		});
	}

	private static double seconds(long start) {
		return (System.nanoTime() - start) / 1e9;
	}

	private static Object round(double seconds) {
		return (seconds < 0) ? "never" : String.format(Locale.ROOT, "%.1f", seconds);
	}

}
