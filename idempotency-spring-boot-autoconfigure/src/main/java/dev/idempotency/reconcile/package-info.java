/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Reconciliation, which compares the records of a topic with the store and changes
 * neither.
 */
@Internal
@NullMarked
package dev.idempotency.reconcile;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
