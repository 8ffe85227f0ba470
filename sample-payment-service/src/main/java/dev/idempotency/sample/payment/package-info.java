/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * Accepts payments, stores them and sends them to Kafka.
 */
@NullMarked
package dev.idempotency.sample.payment;

import org.jspecify.annotations.NullMarked;
