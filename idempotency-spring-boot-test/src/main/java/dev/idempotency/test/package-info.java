/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Tools for the tests of applications with idempotent listeners: a test slice, repeated
 * deliveries, assertions about their outcomes, and faults of the store.
 */
@NullMarked
package dev.idempotency.test;

import org.jspecify.annotations.NullMarked;
