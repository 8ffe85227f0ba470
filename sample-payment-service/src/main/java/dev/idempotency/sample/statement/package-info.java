/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The account statements, which are derived from the events of the ledger.
 */
@NullMarked
package dev.idempotency.sample.statement;

import org.jspecify.annotations.NullMarked;
