/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;
import org.springframework.core.NestedExceptionUtils;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.evidence.Finding;

/**
 * The program of a {@link VersionExhibit}: runs the test classes that its arguments name,
 * kills processes, and prints the finding.
 */
public final class VersionRun {

	/**
	 * The system property that names the store.
	 */
	static final String STORE = "version.store";

	/**
	 * The system property with the seed.
	 */
	static final String SEED = "version.seed";

	private static final String RESULT = "RESULT ";

	private static final int PAYMENTS = 3000;

	private static final int KILLS = 3;

	private VersionRun() {
	}

	/**
	 * Run the program.
	 * @param classes the names of the test classes
	 */
	public static void main(String[] classes) {
		try {
			run(classes);
			System.exit(0);
		}
		catch (RuntimeException | Error ex) {
			ex.printStackTrace();
			// Servers have threads that would keep the JVM running.
			System.exit(1);
		}
	}

	private static void run(String[] classes) {
		Store store = Store.valueOf(System.getProperty(STORE));
		TestExecutionSummary summary = test(classes);
		summary.getFailures()
			.forEach((failure) -> System.out.println(failure.getTestIdentifier().getUniqueId() + ": "
					+ NestedExceptionUtils.getMostSpecificCause(failure.getException())));
		Finding finding = kill(store, summary, Long.getLong(SEED));
		System.out.println(RESULT + JsonMapper.shared().writeValueAsString(finding));
	}

	static Optional<Finding> finding(List<String> output) {
		return output.stream()
			.filter((line) -> line.startsWith(RESULT))
			.findFirst()
			.map((line) -> JsonMapper.shared().readValue(line.substring(RESULT.length()), Finding.class));
	}

	private static TestExecutionSummary test(String[] classes) {
		LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
			.selectors(Stream.of(classes).map(DiscoverySelectors::selectClass).toList())
			.configurationParameter("jqwik.reporting.usejunitplatform", "true")
			.build();
		SummaryGeneratingListener listener = new SummaryGeneratingListener();
		LauncherFactory.create().execute(request, listener);
		return listener.getSummary();
	}

	private static Finding kill(Store store, TestExecutionSummary summary, long seed) {
		Shape shape = (store == Store.REDIS) ? Shape.RECORD : Shape.TRANSACTIONAL;
		PaymentKills.Result result = new PaymentKills(shape, store, seed).run(PAYMENTS, KILLS);
		int doubles = result.charges().doubles();
		long failed = summary.getTotalFailureCount();
		Finding finding = Finding.of("version", store.version(), "tests", summary.getTestsSucceededCount() + failed,
				"failed", failed, "kills", result.report().killed().size(), "lost",
				result.charges().lost(result.traffic().payments()), "doubled", shape.isTransactional() ? doubles : 0,
				"open at a kill", shape.isTransactional() ? 0 : doubles);
		if (failed > 0) {
			return new Finding(finding.figures(), failed + " tests failed");
		}
		return finding.checkedBy(() -> {
			result.assertNoneLost();
			if (shape.isTransactional()) {
				result.assertNoneDoubled();
			}
			else {
				result.assertRepeatedOnlyByKilledProcesses();
			}
		});
	}

}
