/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The observation of the batches of a listener, and the links of its span.
 */
@Internal
@NullMarked
package dev.idempotency.listener.observation;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
