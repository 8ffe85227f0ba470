/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Protection of the functions that the Kafka binder of Spring Cloud Stream calls.
 */
@Internal
@NullMarked
package dev.idempotency.stream;

import org.jspecify.annotations.NullMarked;

import dev.idempotency.Internal;
