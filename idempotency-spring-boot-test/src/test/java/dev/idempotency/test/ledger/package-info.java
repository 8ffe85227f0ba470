/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The application of the page {@code docs/testing.md}, and its tests.
 */
package dev.idempotency.test.ledger;
