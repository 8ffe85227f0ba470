/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Tests for processes that are killed or rebalanced under load.
 */
@NullMarked
package dev.idempotency.storm;

import org.jspecify.annotations.NullMarked;
