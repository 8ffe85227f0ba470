/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The periodic cleanup of expired records and published messages.
 */
@Internal
@NullMarked
package dev.idempotency.cleanup;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
