/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The service provider interface of stores. A store depends on this package and the root
 * package only.
 */
@NullMarked
package dev.idempotency.store;

import org.jspecify.annotations.NullMarked;
