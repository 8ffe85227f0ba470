/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

/**
 * A kind of run that answers one question about the guarantees.
 */
public interface Exhibit {

	/**
	 * Return the name, by which runs are selected and found again.
	 * @return the name, the section and the subject:
	 * {@code kills/transactional-postgresql}
	 */
	String name();

	/**
	 * Return the section of the page.
	 * @return the section
	 */
	Section section();

	/**
	 * Return what the page calls the exhibit.
	 * @return a few words
	 */
	String title();

	/**
	 * Return the number of runs, each with a seed of its own, that complete the exhibit.
	 * @return the number, at least 1
	 */
	default int runs() {
		return 1;
	}

	/**
	 * Run once.
	 * @param seed the source of all random decisions
	 * @return the figures
	 * @throws Exception if the run could not be made, which is recorded as a failure
	 * @throws AssertionError if a guarantee did not hold
	 */
	Finding run(long seed) throws Exception;

}
