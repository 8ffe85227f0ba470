/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The engine: runs an operation once per key, in leased and in transactional mode.
 */
@NullMarked
package dev.idempotency.template;

import org.jspecify.annotations.NullMarked;
