/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Runs an application in child processes, kills, freezes and restarts these under
 * traffic, and reports the operations that were lost or took effect more than once. Begin
 * with {@link dev.idempotency.test.kill.KillHarness}.
 * <p>
 * The package needs only the JDK, and the Kafka client for
 * {@link dev.idempotency.test.kill.ConsumerLag}. It works in a JUnit test and in a main
 * program.
 */
@NullMarked
package dev.idempotency.test.kill;

import org.jspecify.annotations.NullMarked;
