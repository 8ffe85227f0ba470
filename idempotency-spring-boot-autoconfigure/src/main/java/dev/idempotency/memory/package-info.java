/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A store in the memory of one process, for tests.
 */
@Internal
@NullMarked
package dev.idempotency.memory;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
