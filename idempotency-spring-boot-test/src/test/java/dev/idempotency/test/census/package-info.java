/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * An application whose listeners all declare whether they are protected.
 */
@NullMarked
package dev.idempotency.test.census;

import org.jspecify.annotations.NullMarked;
