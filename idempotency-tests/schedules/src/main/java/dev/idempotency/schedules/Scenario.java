/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules;

/**
 * The threads of one schedule. A scenario starts them; the {@link World} checks what they
 * did.
 */
@FunctionalInterface
interface Scenario {

	/**
	 * Prepare the faults, start the threads, and wait until they have ended.
	 * @param world the world of this schedule
	 */
	void run(World world);

}
