/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * An application with retry topics and Redis, for tests of the slice.
 */
package dev.idempotency.test.orders;
