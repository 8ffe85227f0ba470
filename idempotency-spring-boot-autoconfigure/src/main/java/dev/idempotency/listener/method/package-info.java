/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Protects the call of a listener method or function for one delivery.
 */
@Internal
@NullMarked
package dev.idempotency.listener.method;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
