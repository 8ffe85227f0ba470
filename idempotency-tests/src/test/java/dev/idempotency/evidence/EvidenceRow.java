/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

import java.time.Instant;
import java.util.Map;

/**
 * A line of the file of results.
 *
 * @param exhibit the name of the exhibit
 * @param commit the commit of the code, with a plus sign if files had changed
 * @param seed the seed
 * @param date the start of the run
 * @param command the command that repeats the run
 * @param seconds the duration
 * @param passed whether all guarantees held
 * @param figures the figures
 * @param violation the guarantee that did not hold, empty if all did
 */
record EvidenceRow(String exhibit, String commit, long seed, Instant date, String command, long seconds, boolean passed,
		Map<String, Object> figures, String violation) {

	boolean isPossible() {
		return !this.figures.containsKey(Finding.NOT_POSSIBLE);
	}

	static String firstLine(Throwable ex) {
		String text = String.valueOf(ex.getMessage()).strip().lines().findFirst().orElse("");
		return ex.getClass().getSimpleName() + ": " + text.substring(0, Math.min(text.length(), 200));
	}

}
