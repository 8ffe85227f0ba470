/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The card gateway and the listener that calls it.
 */
@NullMarked
package dev.idempotency.sample.gateway;

import org.jspecify.annotations.NullMarked;
