/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The mapped diagnostic context (MDC) of log lines.
 */
@Internal
@NullMarked
package dev.idempotency.slf4j;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
