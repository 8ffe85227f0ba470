/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * The embedded servers: Kafka in this process, PostgreSQL or MariaDB, and Redis, in
 * processes of their own.
 */
@NullMarked
package dev.idempotency.sample.servers;

import org.jspecify.annotations.NullMarked;
