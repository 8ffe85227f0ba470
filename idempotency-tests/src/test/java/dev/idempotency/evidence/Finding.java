/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * What a run has found.
 *
 * @param figures the figures by their names, in the order of the page
 * @param violation the guarantee that did not hold, empty if all did
 */
public record Finding(Map<String, Object> figures, String violation) {

	static final String NOT_POSSIBLE = "not possible";

	/**
	 * Create a finding without a violation.
	 * @param figures names and values in turn
	 * @return the finding
	 */
	public static Finding of(Object... figures) {
		Map<String, Object> map = new LinkedHashMap<>();
		for (int i = 0; i < figures.length; i += 2) {
			map.put((String) figures[i], figures[i + 1]);
		}
		return new Finding(map, "");
	}

	/**
	 * Create the finding of a run that is not possible on this machine.
	 * @param reason the reason, for example a program that is not installed
	 * @return the finding, which is neither a success nor a failure
	 */
	public static Finding notPossible(String reason) {
		return of(NOT_POSSIBLE, reason);
	}

	/**
	 * Check the figures.
	 * @param assertions throws an {@link AssertionError} if a guarantee did not hold
	 * @return this finding, with the violation if there is one
	 */
	public Finding checkedBy(Runnable assertions) {
		try {
			assertions.run();
			return this;
		}
		catch (AssertionError ex) {
			return new Finding(this.figures, EvidenceRow.firstLine(ex));
		}
	}

}
