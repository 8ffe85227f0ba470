/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * A payment service that receives messages several times and charges each payment once.
 */
@NullMarked
package dev.idempotency.sample;

import org.jspecify.annotations.NullMarked;
