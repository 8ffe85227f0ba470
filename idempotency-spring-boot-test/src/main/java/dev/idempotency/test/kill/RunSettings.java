/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test.kill;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * The settings of one run.
 *
 * @param name the name of the run
 * @param seed the seed
 * @param traffic sends the operations of a round
 * @param pending counts the pending work
 * @param freeze for how long a process is frozen
 * @param timeout the time limit of each wait
 * @param progress shows a line
 */
record RunSettings(String name, long seed, Traffic traffic, PendingQuery pending, Duration freeze, Duration timeout,
		Consumer<String> progress) {

}
