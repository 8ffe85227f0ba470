/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.time.Duration;

/**
 * Waits for conditions with a time limit.
 */
final class Waiting {

	private Waiting() {
	}

	/**
	 * Wait until a condition is met.
	 */
	static boolean until(Duration limit, Duration interval, Condition condition) {
		long end = System.nanoTime() + limit.toNanos();
		while (!condition.isMet()) {
			if (System.nanoTime() - end > 0) {
				return false;
			}
			sleep(interval);
		}
		return true;
	}

	static void sleep(Duration time) {
		try {
			Thread.sleep(time.toMillis());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException("The thread of the kill harness was interrupted", ex);
		}
	}

	/**
	 * A condition.
	 */
	interface Condition {

		boolean isMet();

	}

}
