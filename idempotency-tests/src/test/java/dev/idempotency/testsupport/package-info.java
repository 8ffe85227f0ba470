/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Real servers and small applications for the tests.
 */
@NullMarked
package dev.idempotency.testsupport;

import org.jspecify.annotations.NullMarked;
