/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Sets up the protection of listeners and containers at start-up, and checks what cannot
 * be protected.
 */
@Internal
@NullMarked
package dev.idempotency.listener.setup;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
