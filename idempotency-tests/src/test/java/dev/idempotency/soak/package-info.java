/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * An application that works for hours, and what grows meanwhile.
 */
@NullMarked
package dev.idempotency.soak;

import org.jspecify.annotations.NullMarked;
