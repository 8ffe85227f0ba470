/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The figures of requested, delivered, suppressed and charged payments and of their
 * events.
 */
@NullMarked
package dev.idempotency.sample.summary;

import org.jspecify.annotations.NullMarked;
