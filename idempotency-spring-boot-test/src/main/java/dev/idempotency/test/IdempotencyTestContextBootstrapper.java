/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import org.springframework.boot.test.autoconfigure.TestSliceTestContextBootstrapper;

/**
 * Adds the properties of {@link IdempotencyTest} to the environment.
 */
final class IdempotencyTestContextBootstrapper extends TestSliceTestContextBootstrapper<IdempotencyTest> {

}
